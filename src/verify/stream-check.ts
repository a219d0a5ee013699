/**
 * @module Judging of records, one stream at a time. After a faulty record, the check continues from the next record's own claims, so that one change is
 * reported at the event that it hit, and not at the following ones.
 */
import type { LostEvent } from '../../schemas/acknowledged-loss.ts'
import type { Header } from '../../schemas/header.ts'
import { type CheckKeys, checkRecord, type Expectation, type Fault, firstExpectation } from '../signing/check.ts'
import { readHeader } from '../signing/header-reader.ts'
import { ringIndex } from '../signing/key-ring.ts'
import type { VerifyFaultCode } from './fault.ts'
import type { PlacedRecord, SoundFacts, SoundLink } from './source-item.ts'

/** What the records of a stream so far require of the next one; nothing else is remembered. */
export interface StreamState {
  next: number
  /** Undefined at revision 0, and after a record whose own digest cannot be trusted. */
  digest: string | undefined
  digestKnown: boolean
  time: string | undefined
  ringIndex: number
}

export interface JudgedFault {
  readonly code: VerifyFaultCode
  readonly message: string
  /** Records that are known to be missing from this revision on. */
  readonly missing?: { readonly revision: number; readonly count: number }
}

export interface Judged {
  readonly faults: readonly JudgedFault[]
  /** Present if the header could be parsed. */
  readonly header?: Header
  /** Revision of the record, if no column states it. */
  readonly revision?: number
  /** The seal is valid: header and body are those that the ledger wrote, wherever they are now. Without keys, always false. */
  readonly sealed: boolean
  /** The record's own digest, if it could be computed. */
  readonly digest?: string
}

const NO_FAULTS: readonly Fault[] = []

export function newStream(): StreamState {
  return { next: 0, digest: undefined, digestKnown: true, time: undefined, ringIndex: 0 }
}

/** After these faults, the following record cannot be judged by this record's digest. */
const SHAKES_DIGEST: ReadonlySet<VerifyFaultCode> = new Set<VerifyFaultCode>([
  'header-not-json',
  'header-not-canonical',
  'header-schema',
  'unknown-version',
  'wrong-stream',
  'wrong-revision',
  'tenant',
  'mac',
  'unknown-key',
])
const BREAKS_SEAL: ReadonlySet<VerifyFaultCode> = new Set<VerifyFaultCode>([
  ...[...SHAKES_DIGEST].filter((code) => code !== 'wrong-stream' && code !== 'wrong-revision'),
  'data-digest',
  'archive-damaged',
])

/** If `sealsChecked` is false, links and digests are checked, but seals are not. */
export interface StreamCheckKeys extends CheckKeys {
  readonly sealsChecked: boolean
}

export class StreamChecks {
  readonly #keys: StreamCheckKeys
  readonly #streams = new Map<string, StreamState>()

  constructor(keys: StreamCheckKeys) {
    this.#keys = keys
  }

  get streams(): number {
    return this.#streams.size
  }

  has(stream: string): boolean {
    return this.#streams.has(stream)
  }

  /** Whether an event at this revision of the stream, or at a later one, was seen. */
  reaches(stream: string, revision: number): boolean {
    return (this.#streams.get(stream)?.next ?? 0) > revision
  }

  /** The next expected revision of a stream. */
  dueIn(stream: string): number {
    return this.#streams.get(stream)?.next ?? 0
  }

  /** Called after the remains of an event that is acknowledged as lost were judged: the next event must name the lost event's digest. */
  trustLost({ stream, revision, digest }: LostEvent): void {
    const state = this.#state(stream)
    if (state.next !== revision + 1) return
    state.digest = digest
    state.digestKnown = true
  }

  /** Skips an event that is acknowledged as lost: the next event must name its digest. Returns false if the lost event is not the next one. */
  passLost({ stream, revision, digest }: LostEvent): boolean {
    const state = this.#state(stream)
    if (state.next !== revision) return false
    state.next = revision + 1
    state.digest = digest
    state.digestKnown = true
    return true
  }

  /** Skips a record that could not be read: its place is taken, and the next record is judged without a link to it. */
  skip(stream: string, revision: number): void {
    const state = this.#state(stream)
    if (revision < state.next) return
    state.next = revision + 1
    state.digestKnown = false
  }

  /** Whether sound records continue their stream. */
  isNext({ stream, revision, prev, time, ringIndex: index }: SoundLink): boolean {
    const known = this.#streams.get(stream)
    if (known === undefined) return revision === 0 && prev === undefined
    return continues(known, { revision, prev, time, ringIndex: index })
  }

  /** Takes records for which `isNext` is true. */
  goOn({ stream, revision, events, digest, lastTime, lastRingIndex }: SoundLink): void {
    const state = this.#state(stream)
    state.next = revision + events
    state.digestKnown = true
    state.digest = digest
    state.time = lastTime
    state.ringIndex = lastRingIndex
  }

  judge(record: PlacedRecord): Judged {
    if (record.alone === true) return this.#alone(record)
    if (record.inPart === true) this.#goOnAt(record)
    const state = this.#placeOf(record)
    if (state === undefined) return this.#stray(record)
    const faults: JudgedFault[] = []
    const claimed = this.#claimedRevision(record, state)
    if (claimed < state.next) return this.#outOfOrder(record, state)
    if (claimed > state.next) {
      faults.push(missing(state.next, claimed - 1))
      state.next = claimed
      state.digestKnown = false
    }
    const result = checkRecord(record, this.#expectation(record, state), this.#keys)
    const own = result.ok ? NO_FAULTS : result.faults.filter((fault) => this.#counts(fault, state))
    faults.push(...own)
    const { header, digest } = result
    const judged: Judged = {
      faults,
      sealed: this.#keys.sealsChecked && !own.some(({ code }) => BREAKS_SEAL.has(code)),
      ...(record.hasColumns !== true && { revision: state.next }),
      ...(header !== undefined && { header }),
      ...(digest !== undefined && { digest }),
    }
    this.#advance(state, { header, digest, faults: own })
    checkRequestColumn(record, header, faults)
    return judged
  }

  /**
   * The revision that the record claims. If neither its column nor its header matches, the claim counts only with a valid seal: an altered number must not
   * make later records appear displaced.
   */
  #claimedRevision(record: PlacedRecord, state: StreamState): number {
    if (record.revision === state.next) return state.next
    const read = readHeader(record.header)
    if (read.ok && read.header.revision === state.next) return state.next
    return !this.#keys.sealsChecked || record.hasColumns === true || this.#isSealed(record)
      ? record.revision
      : state.next
  }

  #isSealed(record: PlacedRecord): boolean {
    const result = checkRecord(record, { ...firstExpectation(record.stream), revision: record.revision }, this.#keys)
    return result.ok || !result.faults.some((fault) => SHAKES_DIGEST.has(fault.code))
  }

  /** In an export, a line that names a stream that no other line names, without a valid seal: a gap is reported in its true stream. */
  #stray(record: PlacedRecord): Judged {
    return { ...this.#byItself(record), sealed: false }
  }

  #alone(record: PlacedRecord): Judged {
    const judged = this.#byItself(record)
    this.#state(record.stream)
    return { ...judged, sealed: this.#keys.sealsChecked && !judged.faults.some(({ code }) => BREAKS_SEAL.has(code)) }
  }

  #byItself(record: PlacedRecord): Omit<Judged, 'sealed'> {
    const { sealsChecked } = this.#keys
    const result = checkRecord(record, { ...firstExpectation(record.stream), revision: record.revision }, this.#keys)
    const faults = result.ok
      ? []
      : result.faults.filter(({ code }) => code !== 'prev' && (code !== 'unknown-key' || sealsChecked))
    return { faults, ...(result.header && { header: result.header }) }
  }

  /** Finds the stream by the columns as long as they match; a record whose columns were altered is still identified by its header. */
  #placeOf(record: PlacedRecord): StreamState | undefined {
    const own = this.#streams.get(record.stream)
    if (own !== undefined && record.revision === own.next) return own
    if (own === undefined && record.hasColumns !== true && this.#keys.sealsChecked && !this.#isSealed(record))
      return undefined
    if (own === undefined && record.revision === 0) return this.#state(record.stream)

    const read = readHeader(record.header)
    if (!read.ok || read.header.stream === record.stream) return this.#state(record.stream)
    const named = this.#streams.get(read.header.stream)
    return named !== undefined && named.next === read.header.revision ? named : this.#state(record.stream)
  }

  #expectation(record: PlacedRecord, state: StreamState): Expectation {
    return {
      stream: record.stream,
      revision: state.next,
      prevDigest: state.digest,
      prevTime: state.time,
      minRingIndex: state.ringIndex,
    }
  }

  #counts(fault: Fault, state: StreamState): boolean {
    if (fault.code === 'prev') return state.digestKnown
    return fault.code !== 'unknown-key' || this.#keys.sealsChecked
  }

  #advance(
    state: StreamState,
    seen: { header: Header | undefined; digest: string | undefined; faults: readonly Fault[] },
  ): void {
    const { header, digest, faults } = seen
    state.next += 1
    const trusted = header !== undefined && !faults.some((fault) => SHAKES_DIGEST.has(fault.code))
    state.digestKnown = trusted
    if (!trusted) return
    state.digest = digest
    state.time = header.time
    state.ringIndex = Math.max(state.ringIndex, ringIndex(this.#keys.ring, header.kid))
  }

  /** Neither its columns nor its header match the next revision: the record is reported, and the stream continues without it. */
  #outOfOrder(record: PlacedRecord, state: StreamState): Judged {
    const read = readHeader(record.header)
    const message = `is where revision ${state.next} is due`
    const header = read.ok ? { header: read.header } : {}
    return { faults: [{ code: 'out-of-order', message }], sealed: false, ...header }
  }

  /** The first record of a stream in a part is accepted at the revision that it claims: the events before it are not available for a link. */
  #goOnAt(record: PlacedRecord): void {
    if (this.#streams.has(record.stream) || (this.#keys.sealsChecked && !this.#isSealed(record))) return
    const state = this.#state(record.stream)
    state.next = record.revision
    state.digestKnown = record.revision === 0
  }

  #state(stream: string): StreamState {
    const known = this.#streams.get(stream)
    if (known !== undefined) return known
    const state = newStream()
    this.#streams.set(stream, state)
    return state
  }
}

/** Whether a record that is sound on its own is the next one of its stream. */
export function continues(
  state: StreamState,
  { revision, prev, time, ringIndex: index }: Pick<SoundFacts, 'revision' | 'prev' | 'time' | 'ringIndex'>,
): boolean {
  return (
    revision === state.next &&
    (prev === state.digest || !state.digestKnown) &&
    (state.time === undefined || time >= state.time) &&
    index >= state.ringIndex
  )
}

function missing(first: number, last: number): JudgedFault {
  const which = first === last ? `revision ${first} is` : `revisions ${first} to ${last} are`
  return { code: 'missing', message: `${which} missing`, missing: { revision: first, count: last - first + 1 } }
}

function checkRequestColumn(record: PlacedRecord, header: Header | undefined, faults: JudgedFault[]): void {
  if (record.hasColumns !== true || header === undefined) return
  if (record.requestId === header.request?.id) return
  faults.push({ code: 'request-column', message: "the store's column for the request id differs from the header" })
}
