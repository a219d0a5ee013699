/**
 * @module The projection of the store onto the logs: every verified record becomes a leaf of its tenant's tree, in commit order (LOG-1 to LOG-3). An
 * event that does not verify in its place stops its tenant's log there; a stream without any event of ours is foreign and has no leaf.
 */

import { isAcknowledgement, type LostEvent, lostEventsIn, placeText } from '../../../schemas/acknowledged-loss.ts'
import { EVENTS } from '../../../schemas/events.ts'
import type { Header } from '../../../schemas/header.ts'
import { parseJsonOrUndefined } from '../../../schemas/json.ts'
import type { Loss } from '../../../schemas/loss.ts'
import { ledgerStream, SYSTEM_STREAM } from '../../../schemas/names.ts'
import { sameHash } from '../../merkle/hashes.ts'
import type { NoteVerifier } from '../../merkle/note-key.ts'
import {
  type CheckResult,
  checkRecord,
  type Expectation,
  type Fault,
  firstExpectation,
  nextExpectation,
} from '../../signing/check.ts'
import { recordDigest } from '../../signing/digests.ts'
import { isHeldPlace } from '../../signing/held-place.ts'
import { isValueStream, streamTenant } from '../../signing/stream-tenant.ts'
import { againIfRenewed, DerivedFileRenewedError, NOT_AUTHENTIC } from '../../store/derived-file.ts'
import { type Attested, type LostEvents, type Position, type ReadRecord, readOne } from '../../store/event-store.ts'
import type { KnownNotes, LeafRow, LogBatch, LogStop } from '../../store/log-store.ts'
import { building, type IndexProgress, percentOf } from '../audit/index-building.ts'
import { reportFaults, sealFaults } from '../read/record-seal.ts'
import { ACKNOWLEDGEMENTS_MAX, Acknowledgements, LOST_EVENT_ID, type OnRecord } from './acknowledgements.ts'
import { logsStoppedBy } from './broken-record.ts'
import { knownNotes } from './known-notes.ts'
import { placeOf } from './leaf-places.ts'
import { type LogCaches, type StreamState, streamBytes, streamRow, streamState, VERIFIER_BYTES } from './log-caches.ts'
import { digestBytes, type LogDeps, logOrigin } from './log-deps.ts'
import { lossesOfStore } from './log-losses.ts'
import {
  ACKNOWLEDGED_LATER,
  CHECKPOINT_MISMATCH,
  Gaps,
  judgedDigest,
  MISSING,
  nameMissing,
  openTail,
  unnamedIn,
  whatIsOver,
} from './log-stops.ts'
import { type KnownEnds, noteLost } from './lost-streams.ts'
import { readCheckpoint } from './read-checkpoint.ts'
import { isCheckpoint, isStamp, TenantTree, takeStamp } from './tenant-tree.ts'

/** Changes made by one page. */
interface PageChanges {
  readonly trees: Map<string, TenantTree>
  readonly streams: Map<string, StreamState>
  readonly leaves: LeafRow[]
  readonly gaps: Gaps
}

/** The state needed to continue a pass past acknowledged losses. */
interface Passing {
  readonly tree: TenantTree
  readonly passing: OnRecord
  readonly changes: PageChanges
}

const NOTHING = { logs: [], tiles: [], streams: [], leaves: [] } as const
/** A leaf is made of the header alone. */
const LEAVES = { depth: 'fast', leavesSuffice: true } as const
/** Maximum number of positions without a record that are examined one by one. */
const MISSING_MAX = 100

export class LogProjection {
  readonly #deps: LogDeps
  readonly #origin: string
  readonly #caches: LogCaches
  readonly #acknowledged: Acknowledgements
  /** By tenant whose log met a loss: the acknowledged losses that a pass continues past. */
  readonly #passing = new Map<string, OnRecord>()
  /** This process filled the file from the first event of the store, so that no stream is missing from it. */
  #fromStart = false
  #catchingUp: Promise<void> | undefined
  #building: IndexProgress | undefined
  /** What was known of the ends of streams before the file was renewed, until a page is saved. */
  #known: KnownEnds = new Map()
  /** Positions without a record, as found before the last pass. */
  #missing: ReadonlySet<Position> | undefined
  /** Cached from the file, because every write asks for it. */
  #lossesOfStore: readonly Loss[] | undefined

  constructor(deps: LogDeps, origin: string, caches: LogCaches) {
    this.#deps = deps
    this.#origin = origin
    this.#caches = caches
    this.#acknowledged = new Acknowledgements(deps)
    // The caches are ahead of an empty file.
    deps.logStore.onRenewed(() => this.forget())
  }

  /** Follows the store up to its end at the time of the call, or until the signal aborts it. Passes never overlap. */
  async catchUp(signal?: AbortSignal): Promise<void> {
    if (this.#catchingUp !== undefined) await this.#catchingUp.catch(() => undefined)
    this.#catchingUp ??= this.#passAll(signal).finally(() => {
      this.#catchingUp = undefined
      this.#building = undefined
    })
    await this.#catchingUp
  }

  /** Defined while a pass is running that still has far to go. */
  get building(): IndexProgress | undefined {
    return this.#building
  }

  tree(tenant: string): TenantTree {
    const known = this.#caches.trees.get(tenant)
    if (known !== undefined) return known
    const tree = new TenantTree(this.#deps.logStore, tenant, this.#deps.logStore.log(tenant))
    this.#caches.trees.set(tenant, tree, tree.bytes)
    return tree
  }

  /** The losses of a tenant that are acknowledged in the store at the moment. */
  acknowledged(tenant: string): Promise<OnRecord> {
    return this.#acknowledged.of(tenant)
  }

  /** Losses of the store that no log can name. */
  get lossesOfStore(): readonly Loss[] {
    this.#lossesOfStore ??= lossesOfStore(this.#deps.logStore.progress())
    return this.#lossesOfStore
  }

  /** What the events of a stream so far require of its next event; undefined if its first event is not ours. */
  expectation(stream: string): Expectation | undefined {
    const { expected, foreign } = this.#stream(stream)
    return foreign ? undefined : expected
  }

  /** The keys whose checkpoints of a tenant's log are valid, oldest first. */
  verifiers(tenant: string): readonly NoteVerifier[] {
    const { logKeys } = this.#deps
    const name = this.logName(tenant)
    const known = this.#caches.verifiers.get(name)
    if (known?.generation === logKeys.generation) return known.verifiers
    const verifiers = logKeys.verifiers(name)
    const { generation } = logKeys
    this.#caches.verifiers.set(name, { generation, verifiers }, VERIFIER_BYTES * verifiers.length)
    return verifiers
  }

  logName(tenant: string): string {
    return logOrigin(this.#origin, tenant)
  }

  /** Drops the whole file; the next pass reads the store from its start. `known`: what stays known of the ends of streams. */
  renew(reason: string, known: KnownEnds = new Map(this.#deps.logStore.attestedEnds())): void {
    this.#deps.logStore.renew(reason)
    this.#known = known
  }

  /** Drops the caches, which may be behind the file or ahead of it; they are filled from the file again. */
  forget(): void {
    this.#lossesOfStore = undefined
    this.#caches.trees.clear()
    this.#caches.streams.clear()
  }

  /** Each tenant with acknowledged losses may have the pass start over; anything else is repeated as often as for any file. */
  async #passAll(signal?: AbortSignal): Promise<void> {
    for (;;) {
      const before = this.#passing.size
      try {
        return await againIfRenewed(() => this.#pass(signal))
      } catch (error) {
        if (!(error instanceof DerivedFileRenewedError) || this.#passing.size === before) throw error
      }
    }
  }

  async #pass(signal?: AbortSignal): Promise<void> {
    const { store, logStore } = this.#deps
    if (!(await logStore.isAuthentic())) this.renew(NOT_AUTHENTIC, new Map())
    await this.#goOnWhereOver()
    const after = logStore.progress()?.position
    this.#fromStart ||= after === undefined
    await this.#judgeMissing()
    await this.judgeNotes()
    // Pinned: a pass that chased the writers would never end, and nothing would be signed.
    const until = await store.end()
    if (until === undefined || (after !== undefined && store.comparePositions(after, until) >= 0)) return this.#end()
    let from = after
    let events = 0
    for await (const page of store.readAll({ after, until, isShared: true })) {
      if (!(await this.#folded(page, from))) return this.#pass(signal)
      from = page.at(-1)?.position
      events += page.length
      this.#building = building({ indexedEvents: events, percent: percentOf(from, until) })
      if (signal?.aborted === true) return
    }
    await this.#end()
  }

  /**
   * Handles events that went missing since the last pass within the range that the file has followed: events with leaves are reported, the others are
   * saved as a gap.
   */
  async #judgeMissing(): Promise<void> {
    const { store, logStore, sealer } = this.#deps
    const progress = logStore.progress()
    const missing = (await store.missingPositions?.(MISSING_MAX)) ?? []
    const known = this.#missing
    this.#missing = new Set(missing)
    if (progress === undefined || known === undefined || progress.gap !== undefined) return
    const isSeen = (position: Position): boolean => store.comparePositions(position, progress.position) <= 0
    const fresh = missing.filter((position) => !known.has(position) && isSeen(position))
    const unnamed = nameMissing({ store, logStore, sealer }, fresh)
    const [first] = unnamed
    if (first === undefined) return
    const gap = { first, events: unnamed.length }
    logStore.save({ ...NOTHING, progress: { ...progress, gap } }, progress.position)
    this.#lossesOfStore = undefined
  }

  /** Events after the last one may be missing too. Those with leaves stop their logs; the others are in no log and are saved as a gap (LOG-44). */
  async #end(): Promise<void> {
    const { store, logStore } = this.#deps
    const progress = logStore.progress()
    if (progress === undefined || progress.gap !== undefined) return
    const gap = unnamedIn({ store, logStore }, await store.missingEnd?.())
    if (gap === undefined) return
    logStore.save({ ...NOTHING, progress: { ...progress, gap } }, progress.position)
    this.#lossesOfStore = undefined
  }

  /** The cause of a stop may be gone: then the file is rebuilt and the log continues. */
  async #goOnWhereOver(): Promise<void> {
    const reason = await this.whatIsOver()
    if (reason === undefined) return
    this.#deps.onPutBack?.(reason)
    this.renew(reason)
    throw new DerivedFileRenewedError({ file: 'the file of the logs', reason })
  }

  /** The reason to rebuild the file if something that it lacked is present now; otherwise undefined. */
  whatIsOver(): Promise<string | undefined> {
    const { store, logStore } = this.#deps
    return whatIsOver(
      { store, logStore },
      {
        isNext: (stopped) => this.#isNextThere(stopped),
        isPassed: (tenant, stopped) => this.#isPassed(tenant, stopped),
        onRecordOf: (tenant) => this.#acknowledged.of(tenant),
        onMoved: () => this.forget(),
      },
    )
  }

  /** Whether the cause of a stop has been acknowledged since, and no pass has continued past it yet. */
  async #isPassed(tenant: string, stopped: LogStop): Promise<boolean> {
    const onRecord = await this.#acknowledged.of(tenant)
    if (onRecord.places.size === (this.#passing.get(tenant)?.places.size ?? 0)) return false
    const revision = Math.min(stopped.revision, this.#stream(stopped.stream).expected.revision)
    const isOver =
      stopped.lostLeaf !== undefined || onRecord.places.has(placeText({ stream: stopped.stream, revision }))
    if (isOver) this.#passing.set(tenant, onRecord)
    return isOver
  }

  /** The loss just met may be acknowledged further on: then the log starts over and continues past it. False if that has to wait (LOG-76). */
  async #passFrom(tenant: string): Promise<boolean> {
    const onRecord = await this.#acknowledged.of(tenant)
    if (onRecord.places.size === (this.#passing.get(tenant)?.places.size ?? 0)) return true
    if ((await openTail(this.#deps, (each) => this.#acknowledged.of(each))) !== undefined) return false
    this.#passing.set(tenant, onRecord)
    const reason = `losses of ${tenant} are acknowledged`
    this.renew(reason)
    throw new DerivedFileRenewedError({ file: 'the file of the logs', reason })
  }

  /**
   * Whether the next event is present, in its place as well: an event after the stop would be met after it again, and the file would be rebuilt
   * endlessly.
   */
  async #isNextThere({ stream, position }: LogStop): Promise<boolean> {
    const { store } = this.#deps
    const { expected, foreign } = this.#stream(stream)
    const next = foreign ? undefined : await readOne(store, expected)
    if (next === undefined || store.comparePositions(next.position, position) > 0) return false
    return this.#check(next, expected).ok
  }

  /** False if the file was rebuilt in the meantime. The caches are then ahead of what was saved, as after an error, and are dropped. */
  async #folded(page: readonly ReadRecord[], from: Position | undefined): Promise<boolean> {
    let saved = false
    try {
      saved = await this.#fold(page, from)
      return saved
    } finally {
      if (!saved) this.forget()
    }
  }

  async #fold(page: readonly ReadRecord[], from: Position | undefined): Promise<boolean> {
    const { store, logStore } = this.#deps
    const gaps = new Gaps({ store, logStore })
    const changes: PageChanges = { trees: new Map(), streams: new Map(), leaves: [], gaps }
    for (const [stream, events] of this.#known) this.#attest(stream, events, changes)
    let before = from
    const attested = await this.#attested(page, from)
    const lost = [...attested.lost].sort((one, other) => store.comparePositions(one.position, other.position))
    for (const record of page) {
      while (lost[0] !== undefined && store.comparePositions(lost[0].position, record.position) < 0)
        await this.#takeLost(lost.shift(), changes)
      if (store.densePositions === true) gaps.between(before, record.position)
      before = record.position
      await this.#take(record, changes)
    }
    const last = page.at(-1)
    if (last === undefined) return true
    const notes = this.#notesAfter(attested)
    const trees = [...changes.trees.values()].map((tree) => tree.takeChanges())
    const batch: LogBatch = {
      logs: trees.map(({ log }) => log),
      tiles: trees.flatMap(({ tiles }) => tiles),
      streams: [...changes.streams].map(([stream, state]) => streamRow(stream, state)),
      leaves: changes.leaves,
      progress: {
        ...placeOf(last),
        digest: recordDigest(last.header),
        ...(gaps.row && { gap: gaps.row }),
        ...(notes && { notes }),
      },
    }
    if (!logStore.save(batch, from)) return false
    this.#remember(changes)
    return true
  }

  /** Attestations of writers for the range of this page. */
  async #attested(page: readonly ReadRecord[], after: Position | undefined): Promise<Attested> {
    const until = page.at(-1)?.position
    return (until && (await this.#deps.store.attested?.({ after, until }))) || { lost: [] }
  }

  #notesAfter(attested: Attested): KnownNotes | undefined {
    const { store, logStore, log } = this.#deps
    const known = logStore.progress()?.notes
    const notes = knownNotes(known, attested, store.comparePositions)
    if (notes?.broken !== undefined && known?.broken === undefined)
      log.error(
        { reason: notes.broken },
        'notes of the writers of this store are gone or altered, so that events may be gone which nothing names: nothing is written or signed; run "countersign verify", put the rows of event_groups back from a copy, and start again',
      )
    return notes
  }

  /** Notes may disappear without any new write: the store then reports that they began later. */
  async judgeNotes(): Promise<void> {
    const { store, logStore } = this.#deps
    const progress = logStore.progress()
    if (progress === undefined || store.attested === undefined) return
    const { position } = progress
    const notes = this.#notesAfter(await store.attested({ after: position, until: position }))
    if (notes?.broken === progress.notes?.broken) return
    // If another pass has continued in the meantime, that pass has judged the notes.
    if (logStore.save({ ...NOTHING, progress: { ...progress, ...(notes && { notes }) } }, position))
      this.#lossesOfStore = undefined
  }

  /** Stops the log that lacks the lost event. A log that already has a leaf for the first lost event reports the loss without this. */
  async #takeLost(lost: LostEvents | undefined, changes: PageChanges): Promise<void> {
    const tenant = lost && streamTenant(lost.stream)
    if (lost === undefined || tenant === undefined || isValueStream(lost.stream)) return
    const { stream, revision, position } = lost
    const { sealer, log } = this.#deps
    this.#attest(stream, revision + lost.events, changes)
    const { expected } = changes.streams.get(stream) ?? this.#stream(stream)
    sealer.faultFound({ stream, revision, code: MISSING, message: 'its writer attested it, and the store has it not' })
    const tree = changes.trees.get(tenant) ?? this.tree(tenant)
    if (expected.revision > revision || tree.stopped !== undefined) return
    if (this.#passing.get(tenant)?.places.has(placeText(lost)) === true) return
    await this.#passFrom(tenant)
    tree.stopped = { position, stream, revision, code: MISSING }
    changes.trees.set(tenant, tree)
    log.error(
      { tenant, stream, revision, position },
      'the log of this tenant stops here: the store has lost this event, which its writer attested; put it back from a copy',
    )
  }

  /** Known events that the log does not take, since it stopped before them: none of their revisions may be given again. */
  #attest(stream: string, events: number, { streams }: PageChanges): void {
    const state = streams.get(stream) ?? this.#stream(stream)
    const known = Math.max(state.expected.revision, state.attested ?? 0)
    if (!state.foreign && events > known) streams.set(stream, { ...state, attested: events })
  }

  #attestStored(record: ReadRecord, changes: PageChanges): void {
    if (sealFaults(this.#deps.sealer, record).length === 0) this.#attest(record.stream, record.revision + 1, changes)
  }

  /**
   * Caches what was saved, which may be evicted from here on. Entries are set again because they have grown, and because a reader may have cached the
   * older saved state.
   */
  #remember({ trees, streams }: PageChanges): void {
    this.#lossesOfStore = undefined
    this.#known = new Map()
    for (const [tenant, tree] of trees) this.#caches.trees.set(tenant, tree, tree.bytes)
    for (const [stream, state] of streams) this.#caches.streams.set(stream, state, streamBytes(state))
  }

  async #take(record: ReadRecord, changes: PageChanges): Promise<void> {
    const { stream } = record
    if (isValueStream(stream)) return
    const tenant = streamTenant(stream)
    if ((changes.streams.get(stream) ?? this.#stream(stream)).foreign) return
    const tree = tenant === undefined ? undefined : (changes.trees.get(tenant) ?? this.tree(tenant))
    if (tree?.stopped !== undefined) return this.#attestStored(record, changes)
    const passing = this.#passing.get(tenant ?? '')
    if (tree !== undefined && passing !== undefined) this.#passUpTo(record, { tree, passing, changes })
    const state = changes.streams.get(stream) ?? this.#stream(stream)
    if (record.revision > 0 && state.expected.revision === 0) await this.#missed(stream)

    // No `await` on a value that is already there: that would cost a turn of the event loop for each record.
    const first = this.#check(record, state.expected)
    const found = first.ok ? { record, checked: first } : await this.#again(record, state.expected)
    const lost = found.checked.ok ? undefined : passing?.places.get(placeText(record))
    if (tree !== undefined && lost !== undefined && this.#passInPlace(lost, { tree, at: record, changes })) return
    if (tenant === undefined || tree === undefined || !found.checked.ok)
      return this.#takeBroken(found.record, changes, found.checked.ok ? [] : found.checked.faults)
    const { header, digest } = found.checked
    if (header.type === 'LogKeyRotated' && stream === SYSTEM_STREAM) this.#learnKey(found.record)
    if (isCheckpoint(header) && !this.#signed(tree, found.record)) {
      await this.#passFrom(tenant)
      return this.#stop(tree, record, changes, CHECKPOINT_MISMATCH)
    }
    if (isAcknowledgement(found.record.header) && !(await this.#takeAcknowledgement(tree, header, found.record)))
      return this.#stop(tree, record, changes, ACKNOWLEDGED_LATER)
    if (isStamp(header)) takeStamp(tree, header, found.record)
    if (!isCheckpoint(header) && !isStamp(header)) tree.lastFactIndex = tree.size
    changes.leaves.push({ tenant, index: tree.size, ...placeOf(record), eventId: header.id })
    tree.append(digestBytes(digest))
    changes.trees.set(tenant, tree)
    changes.streams.set(stream, { ...state, expected: nextExpectation(found.checked) })
  }

  /** Adds leaves of lost events that come before the leaf of this record. */
  #passUpTo(record: ReadRecord, { tree, passing, changes }: Passing): void {
    for (;;) {
      const lost = passing.leaves.get(tree.size)
      if (lost === undefined || placeText(lost) === placeText(record)) return
      if (!this.#passLost(lost, { tree, at: record, changes })) return
      changes.gaps.explained(1)
    }
  }

  /** What is in the place of an event that is lost for good; false if its leaf is neither due nor there. */
  #passInPlace(lost: LostEvent, passed: Omit<Passing, 'passing'> & { readonly at: ReadRecord }): boolean {
    const isHeld = isHeldPlace(passed.at)
    // Its leaf may come before an event that was written before the place was held.
    if (isHeld && lost.index < passed.tree.size) return true
    if (!this.#passLost(lost, passed)) return false
    // The event itself was elsewhere in the store.
    if (isHeld) passed.changes.gaps.explained(1)
    return true
  }

  /** Adds the leaf of an event that is lost for good; false if that leaf is not due. */
  #passLost(lost: LostEvent, { tree, at, changes }: Omit<Passing, 'passing'> & { readonly at: ReadRecord }): boolean {
    const { stream, revision, digest, index } = lost
    const { expected, foreign } = changes.streams.get(stream) ?? this.#stream(stream)
    if (foreign || expected.revision !== revision || index !== tree.size) return false
    const { tenant } = tree
    changes.leaves.push({ tenant, index, stream, revision, position: at.position, eventId: LOST_EVENT_ID })
    tree.lastFactIndex = index
    tree.append(digestBytes(digest))
    changes.trees.set(tenant, tree)
    changes.streams.set(stream, {
      expected: { ...expected, revision: revision + 1, prevDigest: digest },
      foreign: false,
    })
    return true
  }

  /** The leaves that the acknowledgement names come before it; if they do not match, the log starts over, or stops (false) until it can. */
  async #takeAcknowledgement(
    tree: TenantTree,
    { stream, tenant, type }: Header,
    { data }: ReadRecord,
  ): Promise<boolean> {
    const lost = lostEventsIn(data)
    const [first] = lost
    const isOwn = type === 'LossAcknowledged' && stream === ledgerStream(tenant)
    if (first === undefined || !isOwn || streamTenant(first.stream) !== tenant) return true
    const isLeaf = ({ index, digest }: LostEvent): boolean =>
      index < tree.size && sameHash(tree.read({ level: 0, index }), digestBytes(digest))
    if (!lost.every(isLeaf) && !(await this.#passFrom(tenant))) return false
    if (tree.holes.length < ACKNOWLEDGEMENTS_MAX)
      tree.holes = [
        ...tree.holes,
        { stream: first.stream, revision: first.revision, to: first.revision + lost.length - 1 },
      ]
    return true
  }

  /**
   * Earlier events of the stream were seen, but its row is missing. Without the row, the stream would be taken for a foreign one and be left out of
   * all logs.
   */
  async #missed(stream: string): Promise<void> {
    if (this.#fromStart) return
    const known = await noteLost(this.#deps)
    const reason = `it lacks ${stream}, whose first event came before`
    this.renew(reason, known)
    throw new DerivedFileRenewedError({ file: 'the file of the logs', reason })
  }

  #check(record: ReadRecord, expected: Expectation): CheckResult {
    const { sealer } = this.#deps
    const keys = () => ({ ring: sealer.ring, runKeys: sealer.runKeys, ...LEAVES })
    const checked = checkRecord(record, expected, keys())
    if (checked.ok || !checked.faults.some(({ code }) => code === 'unknown-key')) return checked
    sealer.reload()
    return checkRecord(record, expected, keys())
  }

  /** Reads a record that does not verify a second time before it is judged: a bit that flipped in transit is not in the store. */
  async #again(record: ReadRecord, expected: Expectation): Promise<{ record: ReadRecord; checked: CheckResult }> {
    const again = (await readOne(this.#deps.store, record)) ?? record
    return { record: again, checked: this.#check(again, expected) }
  }

  /** Applies a recorded checkpoint; false if it does not match this tree at that size, or is not signed with our key. */
  #signed(tree: TenantTree, { data }: ReadRecord): boolean {
    // The MAC is valid, but a holder of the sealing key may have sealed anything.
    const body = EVENTS.CheckpointSigned.schema.safeParse(parseJsonOrUndefined(data))
    const verifiers = this.verifiers(tree.tenant)
    const checkpoint = body.success ? readCheckpoint(body.data.note, verifiers) : undefined
    const before = tree.note === undefined ? undefined : readCheckpoint(tree.note, verifiers)
    // A key that has been succeeded in this log signs no more checkpoints of it.
    if (before !== undefined && checkpoint !== undefined && checkpoint.keyPlace < before.keyPlace) return false
    if (checkpoint === undefined || checkpoint.size < 1 || checkpoint.size > tree.size) return false
    if (!sameHash(tree.rootAt(checkpoint.size), checkpoint.root)) return false
    if (checkpoint.size <= tree.signedSize) return true
    tree.signedSize = checkpoint.size
    tree.note = body.data?.note
    return true
  }

  /** Another process may have recorded a key that is not in the key file of this process yet. */
  #learnKey({ data }: ReadRecord): void {
    const body = EVENTS.LogKeyRotated.schema.safeParse(parseJsonOrUndefined(data))
    if (!body.success) return
    this.#deps.logKeys.reload()
    this.#deps.logKeys.learn(body.data.succession)
  }

  async #takeBroken(record: ReadRecord, changes: PageChanges, faults: readonly Fault[]): Promise<void> {
    const code = faults[0]?.code ?? 'stream-name'
    const { expected } = changes.streams.get(record.stream) ?? this.#stream(record.stream)
    const isKnownStream = expected.revision > 0
    const tenants = await logsStoppedBy(this.#deps, { record, faults, isKnownStream })
    if (tenants.size === 0) return this.#setForeign(record, changes, code)
    changes.gaps.explained(Math.max(0, record.revision - expected.revision))
    reportFaults(this.#deps.sealer, record, faults)
    for (const tenant of tenants) {
      const tree = changes.trees.get(tenant) ?? this.tree(tenant)
      if (tree.stopped !== undefined) continue
      await this.#passFrom(tenant)
      this.#stop(tree, record, changes, code)
    }
  }

  #stop(tree: TenantTree, record: ReadRecord, changes: PageChanges, code: string): void {
    tree.stopped = { ...placeOf(record), code, digest: judgedDigest(record) }
    changes.trees.set(tree.tenant, tree)
    this.#attestStored(record, changes)
    this.#deps.log.error(
      { ...placeOf(record), code, tenant: tree.tenant },
      'the log of this tenant stops here, and nothing of what follows can be proven: run "countersign verify", and put the event back from a copy',
    )
  }

  #setForeign(record: ReadRecord, changes: PageChanges, code: string): void {
    changes.streams.set(record.stream, { expected: firstExpectation(record.stream), foreign: true })
    this.#deps.log.warn({ ...placeOf(record), code }, 'a stream that this ledger did not write is in no log')
  }

  #stream(stream: string): StreamState {
    const known = this.#caches.streams.get(stream)
    if (known !== undefined) return known
    const row = this.#deps.logStore.stream(stream)
    const state = row === undefined ? { expected: firstExpectation(stream), foreign: false } : streamState(row)
    this.#caches.streams.set(stream, state, streamBytes(state))
    return state
  }
}
