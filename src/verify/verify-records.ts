/**
 * @module Offline verification: every record of a store or an export, read once, in order, in memory that does not grow with the number of events. It shows
 * integrity; only a checkpoint stored outside the ledger can show that the end was truncated.
 */
import { placeText } from '../../schemas/acknowledged-loss.ts'
import type { Header } from '../../schemas/header.ts'
import { ledgerStream, SYSTEM_STREAM } from '../../schemas/names.ts'
import type { CheckDepth } from '../signing/check.ts'
import { isHeldPlace } from '../signing/held-place.ts'
import type { KeyRing, RunKeys } from '../signing/key-ring.ts'
import { isValueStream } from '../signing/stream-tenant.ts'
import { type AcknowledgedEvent, type AcknowledgedLosses, FoundAcknowledgements } from './acknowledged-losses.ts'
import { ArchiveChecks, type FindArchive } from './archive-checks.ts'
import { bearsOnErasure, ErasureChecks } from './erasure-checks.ts'
import { EventRules, type LedgerFacts } from './event-rules.ts'
import { type Verdict, type VerifyFault, verdictOf, worse } from './fault.ts'
import { RecordedCheckpoints } from './recorded-checkpoints.ts'
import { createSeenIds } from './seen-ids.ts'
import type { PlacedRecord, SoundRows, SourceFault, SourceItem, SourcePages } from './source-item.ts'
import { type Judged, StreamChecks } from './stream-check.ts'
import { ValueChecks } from './value-checks.ts'

export interface VerifyKeys {
  readonly ring: Pick<KeyRing, 'keys'>
  readonly runKeys: RunKeys
  /** Verifier keys for an origin: all current and former signing keys of the logs, oldest first. */
  readonly verifierKeys?: (origin: string) => readonly string[]
}

export interface VerifyOptions {
  /** If absent, links and digests are checked but seals are not, and the verdict cannot be VERIFIED. */
  readonly keys?: VerifyKeys
  /** Default `full`. */
  readonly depth?: CheckDepth
  /** Whether the source is a whole store, whose positions have no gaps. */
  readonly wholeStore?: boolean
  /** For a whole store: events that another file recorded as seen in it; those that it lacks are lost. Called at the end. */
  readonly seenBeside?: () => Iterable<readonly [index: number, stream: string, revision: number]>
  /** Whether an empty source is valid, as for a part of a log that has not grown. Called at the end. */
  readonly mayBeEmpty?: () => boolean
  /** Whether the key of a subject exists; absent if the key file is not next to the store. */
  readonly keyExists?: ((id: string) => boolean) | undefined
  /** For a store with archives beside it: reads the file of one. */
  readonly findArchive?: FindArchive | undefined
  /** Reads the source again from the start, each record as stored: needed if an event id may occur twice. */
  readonly again?: () => SourcePages
  /** For a whole store: the recorded acknowledgements of losses that an earlier pass found. Each loss is then reported as acknowledged, at its place. */
  readonly acknowledged?: AcknowledgedLosses
  readonly onFault: (fault: VerifyFault) => void
  readonly onProgress?: (events: number) => void
}

export interface VerifyResult {
  readonly verdict: Verdict
  readonly events: number
  readonly streams: number
  readonly faults: number
  /** Number of events whose writer's clock was behind: their time is that of the event before them, and their clock is recorded. */
  readonly behindClock: number
  /** Large values next to the events of a store; those that no event names were left by a crash. */
  readonly values?: { readonly whole: number; readonly unnamed: number }
  /** Number of events in which something was encrypted under a key that was destroyed by a recorded erasure. */
  readonly erased?: number
  /** Archives in which bodies of events are, each with the number of these events. */
  readonly archived?: readonly { readonly archive: string; readonly events: number }[]
  readonly ledger?: LedgerFacts
  /** Losses with a recorded acknowledgement. */
  readonly acknowledged?: readonly AcknowledgedEvent[]
  /** Number of these events that exist again. */
  readonly putBack?: number
  /** What this run could not judge, as sentences. */
  readonly unchecked: readonly string[]
}

/** Continues after a fault. Never throws for any content of a source; the source reports its own read errors as items. */
export async function verifyRecords(pages: SourcePages, options: VerifyOptions): Promise<VerifyResult> {
  const run = new Verification(options)
  for await (const page of pages) {
    for (const item of page) run.take(item)
    options.onProgress?.(run.events)
  }
  await run.compareIds()
  await run.judgeArchives()
  return run.finish()
}

const NO_KEYS = { ring: { keys: [] }, runKeys: { keyFor: () => undefined } }

class Verification {
  events = 0
  readonly #options: VerifyOptions
  readonly #streams: StreamChecks
  readonly #rules: EventRules
  readonly #checkpoints: RecordedCheckpoints
  readonly #seen = createSeenIds()
  readonly #values = new ValueChecks()
  readonly #mayRepeat = new Set<string>()
  readonly #erasures = new ErasureChecks()
  readonly #archives = new ArchiveChecks()
  #archived: NonNullable<VerifyResult['archived']> = []
  readonly #acknowledged = new FoundAcknowledgements()
  /** Places of acknowledged losses that were passed. */
  readonly #met = new Set<string>()
  #putBack = 0
  readonly #unchecked: string[] = []
  #verdict: Verdict = 'VERIFIED'
  #faults = 0
  #sealed = 0
  #behindClock = 0
  /** Number of positions without a record, minus the records known to be missing from a stream. */
  #unexplained = 0
  #lastPosition = 0
  #firstGap: string | undefined
  readonly #strangers: VerifyFault[] = []

  constructor(options: VerifyOptions) {
    this.#options = options
    const { ring, runKeys } = options.keys ?? NO_KEYS
    const depth = options.depth ?? 'full'
    this.#streams = new StreamChecks({ ring, runKeys, depth, sealsChecked: options.keys !== undefined })
    this.#rules = new EventRules({
      ring: options.keys?.ring,
      bodies: depth === 'full',
      ...(options.keys?.verifierKeys && { verifierKeys: options.keys.verifierKeys }),
    })
    const isSigned = options.keys?.verifierKeys !== undefined
    const { acknowledged } = options
    this.#checkpoints = new RecordedCheckpoints({
      ...(isSigned && { logKeys: () => this.#rules.logKeys }),
      ...(acknowledged && { acknowledged }),
    })
  }

  take(item: SourceItem): void {
    if (!('sound' in item)) this.#take(item)
    else if (!this.#pass(item)) for (const each of item.reread()) this.#take(each)
  }

  /** Does what `#judge` does, for sound records at their expected places; returns false and changes nothing if one of them is not at its place. */
  #pass(rows: SoundRows): boolean {
    const { position, count, links, ids } = rows
    if (position !== this.#lastPosition + 1) return false
    if (!links.every((link) => this.#rules.admits(link) && this.#streams.isNext(link))) return false
    for (const link of links) {
      this.#streams.goOn(link)
      this.#behindClock += link.behindClock
    }
    this.events += count
    this.#sealed += count
    this.#lastPosition += count
    if (this.#options.wholeStore === true) this.#checkpoints.pass(rows)
    for (const id of this.#seen.repeatedIn(ids, count)) this.#mayRepeat.add(id)
    return true
  }

  #take(item: PlacedRecord | SourceFault): void {
    if ('fault' in item) {
      const { stream, revision, position } = item.fault
      this.#report(item.fault)
      if (position !== undefined) this.#checkPosition(position)
      if (stream !== undefined && revision !== undefined) this.#streams.skip(stream, revision)
      return
    }
    this.events += 1
    if (item.position !== undefined) this.#checkPosition(item.position)
    this.#judge(item)
  }

  #judge(record: PlacedRecord): void {
    this.#passMissing(record)
    // An archive that is elsewhere is no reason to call an acknowledged event lost: it may have been put back.
    const found = this.#asArchived(record, this.#streams.judge(record))
    const judged = this.#asLost(record, found) ?? found
    const { header } = judged
    for (const { code, message, missing } of judged.faults) {
      if (missing === undefined) {
        this.#reportOf(judged, { ...placeOf(record, judged), code, message })
        continue
      }
      this.#unexplained -= missing.count
      this.#report({ stream: record.stream, revision: missing.revision, code, message })
    }
    if (judged.faults.length > 0 && isValueStream(record.stream)) this.#values.spoil(record.stream)
    if (judged.sealed) this.#sealed += 1
    if (header === undefined) return
    if (header.clock !== undefined) this.#behindClock += 1
    if (!judged.sealed && this.#options.keys !== undefined) return
    if (record.archive?.exists !== false) this.#checkRules(record, judged, header)
    if (judged.sealed && judged.faults.length === 0) this.#acknowledged.take(header, record.data)
    if (judged.faults.length === 0) this.#archives.takeRecord(header.type, header, record.data)
    if (judged.sealed && bearsOnErasure(header.type, record)) this.#erasures.take(header, record.data)
    this.#checkCheckpoint(record, judged)
    this.#checkValues(record, judged)
    if (judged.faults.length === 0 && this.#seen.mayRepeat(header.id)) this.#mayRepeat.add(header.id)
  }

  #checkRules(record: PlacedRecord, judged: Judged, header: Header): void {
    for (const { code, message } of this.#rules.check(header, record.data)) {
      this.#report({ ...placeOf(record, judged), code, message })
    }
  }

  /** That an archive is missing is reported once, with the number of events whose bodies are in it. */
  #asArchived(record: PlacedRecord, judged: Judged): Judged {
    if (record.archive === undefined) return judged
    this.#archives.takeMoved(record)
    if (!record.archive.exists && isValueStream(record.stream)) this.#values.leave(record.stream)
    return { ...judged, faults: judged.faults.filter(({ code }) => code !== 'archive-missing') }
  }

  async judgeArchives(): Promise<void> {
    const { archived, faults } = await this.#archives.finish(this.#options.findArchive)
    this.#archived = archived
    for (const fault of faults) this.#report(fault)
  }

  /** Skips events of its stream before it that are missing and acknowledged as lost. */
  #passMissing({ stream, revision }: Pick<PlacedRecord, 'stream' | 'revision'>): void {
    const { acknowledged } = this.#options
    if (acknowledged === undefined) return
    for (let due = this.#streams.dueIn(stream); due < revision; due += 1) {
      const lost = acknowledged.at({ stream, revision: due })
      if (lost === undefined || !this.#streams.passLost(lost)) return
      this.#explain()
      this.#reportLost(lost, 'is gone')
    }
  }

  /** The remains of an event that is acknowledged as lost count as no record; if an intact event is there, it must be the one that was lost. */
  #asLost(record: PlacedRecord, judged: Judged): Judged | undefined {
    const lost = this.#options.acknowledged?.at(record)
    if (lost === undefined) return undefined
    const { faults, digest } = judged
    if (faults.length === 0) {
      this.#met.add(placeText(lost))
      this.#putBack += 1
      if (digest === lost.digest) return undefined
      const message = `another event than the one that the acknowledgement ${lost.event} names as lost`
      return { ...judged, faults: [{ code: 'acknowledged-other', message }] }
    }
    const isInPlace = faults.every(({ code, missing }) => missing === undefined && code !== 'out-of-order')
    if (!isInPlace) return undefined
    this.#streams.trustLost(lost)
    const isHeld = isHeldPlace(record)
    // The event itself was elsewhere in the store.
    if (isHeld) this.#explain()
    this.#reportLost(lost, isHeld ? 'is gone' : `does not verify (${faults[0]?.code})`)
    return { faults: [], sealed: false }
  }

  /** Its position is without a record, unless the store is an older copy, which never had it. */
  #explain(): void {
    if (this.#unexplained > 0) this.#unexplained -= 1
  }

  #reportLost(lost: AcknowledgedEvent, how: string): void {
    const { stream, revision, tenant, event, reason } = lost
    this.#met.add(placeText(lost))
    if (stream === ledgerStream(tenant)) this.#archives.takeLost(tenant)
    const message = `${how}, and acknowledged as lost for good by ${event}: ${reason}`
    this.#report({ code: 'loss-acknowledged', message, stream, revision })
  }

  /** Checks large values, whose faults are reported only for a whole store: an export does not contain them, and says so. */
  #checkValues(record: PlacedRecord, judged: Judged): void {
    const { header } = judged
    if (header === undefined || judged.faults.length > 0) return
    for (const { code, message } of this.#values.take(header, record.data)) {
      if (this.#options.wholeStore === true) this.#report({ ...placeOf(record, judged), code, message })
    }
  }

  /** Only for a whole store: other sources need not contain all events that a checkpoint covers. */
  #checkCheckpoint(record: PlacedRecord, judged: Judged): void {
    const { header, digest } = judged
    if (this.#options.wholeStore !== true || header === undefined || digest === undefined) return
    const message = this.#checkpoints.take(header, record.data, digest)
    if (message !== undefined) this.#report({ ...placeOf(record, judged), code: 'recorded-checkpoint', message })
  }

  /** An unknown key is a fault, unless the ledger announced it or the whole ring belongs to another ledger. */
  #reportOf({ header }: Judged, fault: VerifyFault): void {
    const stranger = fault.code === 'unknown-key' && header !== undefined
    if (stranger && this.#rules.wasAnnounced(header.kid)) {
      const message = `sealed with ${header.kid}, which these keys lack: use the newest key file`
      this.#report({ ...fault, code: 'key-missing', message })
    } else if (stranger && this.#sealed === 0 && this.#strangers.length < STRANGERS_MAX) {
      this.#strangers.push(fault)
    } else {
      this.#report(fault)
    }
  }

  #checkPosition(text: string): void {
    const position = Number(text)
    const { wholeStore = false } = this.#options
    if (position <= this.#lastPosition) {
      this.#report({
        code: 'position-order',
        message: 'its position does not come after the one before it',
        position: text,
      })
      return
    }
    const gap = position - this.#lastPosition - 1
    if (wholeStore && gap > 0) {
      this.#unexplained += gap
      this.#firstGap ??= String(this.#lastPosition + 1)
    }
    this.#lastPosition = position
  }

  /** Ids that the filter could not distinguish from earlier ones are compared in a second pass. */
  async compareIds(): Promise<void> {
    const { again } = this.#options
    if (this.#mayRepeat.size === 0) return
    if (again === undefined) {
      this.#unchecked.push('whether an event id occurs twice: this source can be read only once')
      return
    }
    const found = new Set<string>()
    for await (const page of again()) {
      for (const item of page) {
        if ('fault' in item || 'sound' in item) continue
        const id = idOf(item.header)
        if (id === undefined || !this.#mayRepeat.has(id)) continue
        if (found.has(id)) {
          this.#report({
            ...placeOf(item, {}),
            code: 'duplicate-id',
            message: `the event id ${id} occurs twice`,
            eventId: id,
          })
        }
        found.add(id)
      }
    }
  }

  finish(): VerifyResult {
    this.#judgeStrangers()
    this.#judgeWhole()
    const { erased, faults, unchecked } = this.#erasures.finish(this.#options.keyExists)
    for (const fault of faults) this.#report(fault)
    this.#unchecked.push(...unchecked)
    const { facts, disclosedRuns } = this.#rules
    const { values, unnamed, elsewhere } = this.#values
    if (this.#options.wholeStore !== true && elsewhere > 0)
      this.#unchecked.push(`large values: ${elsewhere} are named and lie in the store of the ledger`)
    if (disclosedRuns > 0) this.#unchecked.push(disclosedText(disclosedRuns))
    return {
      verdict: this.#verdict,
      events: this.events,
      streams: this.#streams.streams,
      faults: this.#faults,
      behindClock: this.#behindClock,
      ...(values > 0 && { values: { whole: values, unnamed } }),
      ...(erased > 0 && { erased }),
      ...(this.#archived.length > 0 && { archived: this.#archived }),
      ...(facts && { ledger: facts }),
      ...(this.#acknowledged.lost.length > 0 && { acknowledged: this.#acknowledged.lost }),
      ...(this.#putBack > 0 && { putBack: this.#putBack }),
      unchecked: this.#unchecked,
    }
  }

  #judgeStrangers(): void {
    if (this.#sealed > 0) for (const fault of this.#strangers) this.#report(fault)
    if (this.#sealed > 0 || this.#strangers.length === 0) return
    const message = `none of the ${this.events} events was sealed with these keys: they belong to another ledger`
    this.#report({ code: 'foreign-keys', message })
  }

  #judgeWhole(): void {
    const { keys, wholeStore = false } = this.#options
    if (keys === undefined) {
      this.#report({ code: 'no-keys', message: 'no keys: links and digests were checked, seals were not' })
      this.#unchecked.push('seals: anyone who can write the file could have made every event again')
    }
    if (this.events === 0 && this.#options.mayBeEmpty?.() !== true)
      this.#report({ code: 'empty', message: 'there are no events' })
    if (!wholeStore) return
    for (const lost of this.#options.acknowledged?.all() ?? []) {
      if (this.#met.has(placeText(lost)) || !this.#streams.passLost(lost)) continue
      this.#explain()
      this.#reportLost(lost, 'is gone')
    }
    this.#judgeSeen()
    if (this.#checkpoints.tooFar)
      this.#unchecked.push(
        'recorded checkpoints: some follow their events by too many others; hold one against the store with --checkpoint',
      )
    if (this.#unexplained > 0) {
      const count = this.#unexplained === 1 ? '1 event is' : `${this.#unexplained} events are`
      const message = `${count} gone, the first at position ${this.#firstGap}; no later event of the same stream tells which`
      this.#report({ code: 'position-gap', message, ...(this.#firstGap && { position: this.#firstGap }) })
    }
    if (this.events > 0 && !this.#streams.has(SYSTEM_STREAM)) {
      this.#report({ code: 'founding-event', message: `the stream ${SYSTEM_STREAM} is missing`, stream: SYSTEM_STREAM })
    }
  }

  /** Each stream is reported once, with the first of its missing events. */
  #judgeSeen(): void {
    const lost = new Map<string, number>()
    for (const [, stream, revision] of this.#options.seenBeside?.() ?? []) {
      if (this.#streams.reaches(stream, revision)) continue
      lost.set(stream, Math.min(revision, lost.get(stream) ?? revision))
    }
    const message = 'a file of the ledger beside the store has seen this event in it, and perhaps others behind it'
    for (const [stream, revision] of lost) this.#report({ code: 'seen-beside', message, stream, revision })
  }

  #report(fault: VerifyFault): void {
    this.#faults += 1
    if (verdictOf(fault.code) === 'TAMPERED') this.#checkpoints.giveUp(fault.stream)
    this.#verdict = worse(this.#verdict, verdictOf(fault.code))
    this.#options.onFault(fault)
  }
}

function disclosedText(runs: number): string {
  const which = runs === 1 ? 'of 1 run the keys' : `of ${runs} runs the keys`
  return `${which} were disclosed: anyone who has them could have made its events again, and only a checkpoint from before proves them`
}

/** Number of faults held back until it is known whether any event was sealed with the supplied keys. */
const STRANGERS_MAX = 1_000

/** The place of a record, as reported in a fault. */
function placeOf(
  record: PlacedRecord,
  { header, revision = record.revision }: Partial<Judged>,
): Omit<VerifyFault, 'code' | 'message'> {
  const { stream, position } = record
  return {
    stream,
    revision,
    ...(position !== undefined && { position }),
    ...(header !== undefined && { eventId: header.id }),
  }
}

/** The event id in a header's text; undefined if there is none. */
function idOf(header: string): string | undefined {
  return /"id":"([0-9a-f-]{36})"/.exec(header)?.[1]
}
