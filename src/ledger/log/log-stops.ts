/** @module Where logs stopped, whether the cause is gone, and what the file of the logs knows of events that the store no longer holds. */
import { leafHash, sameHash } from '../../merkle/hashes.ts'
import { recordDigest, textDigest } from '../../signing/digests.ts'
import {
  type EventStore,
  type Position,
  type PositionRange,
  type ReadRecord,
  readOne,
  type StoreReader,
} from '../../store/event-store.ts'
import type { LeafRow, LogBatch, LogRow, LogStop, LogStore } from '../../store/log-store.ts'
import type { SealFault } from '../identity/sealer.ts'
import type { OnRecord } from './acknowledgements.ts'
import { leafHashAt } from './leaf-hash.ts'
import { leavesUpTo } from './leaf-places.ts'
import type { LogDeps } from './log-deps.ts'

/** Code of a stop at an event that the log has and the store lacks: `lostLeaf`. */
export const MISSING = 'missing'
/** Code for a leaf in whose place the store has another event. */
const OTHER_EVENT = 'leaf'
/** Code of a stop at a recorded checkpoint that does not belong to this log. Its event verifies, so an intact next event does not end the stop. */
export const CHECKPOINT_MISMATCH = 'checkpoint-mismatch'
/** Code of a stop at an acknowledgement whose leaves the log can only take when the file is rebuilt, which has to wait (LOG-76). */
export const ACKNOWLEDGED_LATER = 'acknowledged-later'
/** Maximum number of stops that are examined before a pass. */
const STOPS_AT_ONCE = 20
/** Number of leaves at the end of a log that are searched for missing events one by one. */
const LOST_MAX = 10_000
/** Number of leaves of a lost end that are listed at once. */
const TAIL_LEAVES = 1_000
/** Maximum number of positions without a record that are looked up among the leaves. */
const NAMED_MAX = 1_000

/** Digest of the judged record: a record with a different digest is judged again. */
export function judgedDigest({ header, data }: ReadRecord): string {
  return textDigest(`${header}\n${data}`)
}

type StopDeps = Pick<LogDeps, 'store' | 'logStore'>
type LeavesAndTiles = Pick<LogStore, 'leaf' | 'tile'>

interface WhatIsOver extends Pick<Stopped, 'isNext'> {
  /** Whether the loss is acknowledged, and no pass has continued past it yet. */
  readonly isPassed: (tenant: string, stopped: LogStop) => Promise<boolean>
  readonly onRecordOf: (tenant: string) => Promise<OnRecord>
  /** Called after the stop of a log was moved in the file. */
  readonly onMoved: () => void
}

/** The reason to rebuild the file: the cause of a stop is gone, or a missing event is back. Undefined if nothing changed. */
export async function whatIsOver(
  deps: StopDeps,
  { isNext, isPassed, onRecordOf, onMoved }: WhatIsOver,
): Promise<string | undefined> {
  const { store, logStore } = deps
  const tail = await openTail(deps, onRecordOf)
  if (tail !== undefined) {
    if (isMoved(deps, tail)) onMoved()
    return undefined
  }
  const gap = logStore.progress()?.gap
  if (gap !== undefined && (await store.recordAt(gap.first)) !== undefined) return 'an event that was gone is back'
  let reason: string | undefined
  // All of them at once: the file is rebuilt once for them.
  for (const { tenant, stopped } of settledFirst(logStore.stoppedLogs())) {
    if (stopped === undefined) continue
    if (await isPassed(tenant, stopped)) reason ??= `what stopped the log of ${tenant} is acknowledged as lost`
    else if (await isOver(deps, { stopped, isNext }))
      reason ??= `what stopped the log of ${tenant} is not there any more`
  }
  return reason
}

/** Logs with a lost end, all of which are settled by now, and a limited number of others. */
function settledFirst(logs: readonly LogRow[]): readonly LogRow[] {
  const isTail = ({ stopped }: LogRow): boolean => stopped?.lostLeaf !== undefined
  return [...logs.filter(isTail), ...logs.filter((log) => !isTail(log)).slice(0, STOPS_AT_ONCE)]
}

interface OpenTail {
  readonly log: LogRow
  /** The first event of the end that is neither in the store nor acknowledged. */
  readonly leaf: LeafRow
}

/**
 * The first log with a lost end that is neither put back nor acknowledged. As long as there is one the file is not rebuilt, because nothing else knows
 * which events these were (LOG-76).
 */
export async function openTail(deps: StopDeps, onRecordOf: WhatIsOver['onRecordOf']): Promise<OpenTail | undefined> {
  const { logStore } = deps
  for (const log of logStore.stoppedLogs()) {
    const { tenant, size, stopped } = log
    if (stopped?.lostLeaf === undefined) continue
    const onRecord = await onRecordOf(tenant)
    for (let from = stopped.lostLeaf; from < size; from += TAIL_LEAVES) {
      for (const leaf of logStore.leaves(tenant, from, Math.min(size, from + TAIL_LEAVES)))
        if (!onRecord.leaves.has(leaf.index) && !(await holdsLeaf(deps, tenant, leaf.index))) return { log, leaf }
    }
  }
  return undefined
}

/** The log stops at the first event that is lost now: what came before it is put back or acknowledged. False if it does already. */
function isMoved({ logStore }: StopDeps, { log, leaf }: OpenTail): boolean {
  const progress = logStore.progress()
  if (progress === undefined || log.stopped?.lostLeaf === leaf.index) return false
  return logStore.save({ logs: stoppedAt(log, leaf), streams: [], leaves: [], tiles: [], progress }, progress.position)
}

interface Stopped {
  readonly stopped: LogStop
  /** Whether the next event of the stream is present, no later than the stop, and verifies. */
  readonly isNext: (stopped: LogStop) => Promise<boolean>
}

/** A lost end is settled where this is asked. */
async function isOver(deps: StopDeps, { stopped, isNext }: Stopped): Promise<boolean> {
  if (stopped.lostLeaf !== undefined) return true
  const record = await deps.store.recordAt(stopped.position)
  // No record was judged: the event of that position was missing.
  if (stopped.digest === undefined) return record !== undefined
  if (record === undefined || judgedDigest(record) !== stopped.digest) return true
  return stopped.code !== CHECKPOINT_MISMATCH && isNext(stopped)
}

/** For readers only: whether the event that stopped a log is in its place in the store now, and valid in itself. */
export async function isPutBack(
  {
    store,
    logStore,
  }: { readonly store: Pick<StoreReader, 'readStream' | 'recordAt'>; readonly logStore: LeavesAndTiles },
  {
    tenant,
    stopped,
    isSound,
  }: { readonly tenant: string; readonly stopped: LogStop; readonly isSound: (record: ReadRecord) => boolean },
): Promise<boolean> {
  if (stopped.lostLeaf !== undefined) return holdsLeaf({ store, logStore }, tenant, stopped.lostLeaf)
  const record = await store.recordAt(stopped.position)
  if (record === undefined || (stopped.digest !== undefined && judgedDigest(record) === stopped.digest)) return false
  return record.stream === stopped.stream && record.revision === stopped.revision && isSound(record)
}

/** Whether the store has the event that the log has at that index. */
export async function holdsLeaf(
  { store, logStore }: { readonly store: Pick<StoreReader, 'readStream'>; readonly logStore: LeavesAndTiles },
  tenant: string,
  index: number,
): Promise<boolean> {
  const leaf = logStore.leaf(tenant, index)
  const record = leaf && (await readOne(store, leaf))
  return leaf !== undefined && record !== undefined && isStoredLeaf(logStore, leaf, record)
}

interface LeavesAt {
  readonly store: Pick<EventStore, 'comparePositions'>
  readonly logStore: Pick<LogStore, 'logs' | 'leaf'>
}

/** The leaf at a position, in any of the logs. */
export function leafAt({ store, logStore }: LeavesAt, position: Position): LeafRow | undefined {
  const places = { leaves: logStore, comparePositions: store.comparePositions.bind(store) }
  for (const log of logStore.logs()) {
    const leaf = logStore.leaf(log.tenant, leavesUpTo(places, log, position) - 1)
    if (leaf?.position === position) return leaf
  }
  return undefined
}

/** Whether a record is the event that the log has as this leaf. */
export function isStoredLeaf(logStore: Pick<LogStore, 'tile'>, leaf: LeafRow, record: ReadRecord): boolean {
  const hash = leafHashAt(logStore, leaf)
  return hash !== undefined && sameHash(leafHash(record.header), hash)
}

export interface LostTail {
  readonly batch: LogBatch
  /** The first missing event of each log. */
  readonly lost: readonly LeafRow[]
}

/**
 * The store ends before the last event that the file has seen: determines which logs lack their last events, and the new state of the file. Those
 * logs stop at the first missing event, so that nothing after it is claimed to be complete (LOG-46). Undefined if no leaf is missing, or if events
 * are at other positions: then the file is in doubt.
 */
export async function lostTail({ store, logStore }: StopDeps): Promise<LostTail | undefined> {
  const lost: LeafRow[] = []
  const logs: LogRow[] = []
  let last: ReadRecord | undefined
  const later = (record: ReadRecord): boolean =>
    last === undefined || store.comparePositions(record.position, last.position) > 0
  for (const row of logStore.logs()) {
    const { gone, last: end } = await endOf({ store, logStore }, row)
    if (end !== undefined && end.record.position !== end.leaf.position) return undefined
    if (end !== undefined && later(end.record)) last = end.record
    if (gone === undefined) continue
    lost.push(gone.leaf)
    logs.push(...stoppedAt(row, gone.leaf))
  }
  if (lost.length === 0 || last === undefined) return undefined
  const { position, stream, revision, header } = last
  const progress = { position, stream, revision, digest: recordDigest(header) }
  return { lost, batch: { logs, streams: [], leaves: [], tiles: [], progress } }
}

/** The row of a log that stops at this leaf, whose event is gone. */
export function stoppedAt(row: LogRow | undefined, { position, stream, revision, index }: LeafRow): readonly LogRow[] {
  if (row === undefined) return []
  return [{ ...row, stopped: { position, stream, revision, code: MISSING, lostLeaf: index } }]
}

export interface LogEnd {
  /** The last leaf whose event is in the store, and that event. */
  readonly last: { readonly leaf: LeafRow; readonly record: ReadRecord } | undefined
  /** The first leaf after it and its fault: the store has no event in that place, or another one. */
  readonly gone: { readonly leaf: LeafRow; readonly code: string } | undefined
}

interface EndDeps {
  readonly store: Pick<StoreReader, 'readStream'>
  readonly logStore: LeavesAndTiles
}

/**
 * The end of a log as far as the store holds it, searched backwards from the end of the log. If more is gone than is searched, the store is taken for an older
 * copy, which holds all leaves before some place.
 */
export async function endOf(deps: EndDeps, { tenant, size }: Pick<LogRow, 'tenant' | 'size'>): Promise<LogEnd> {
  let end: LogEnd = { gone: undefined, last: undefined }
  let high = size
  for (let low = 0; low < high; ) {
    const index = high > size - LOST_MAX ? high - 1 : Math.floor((low + high) / 2)
    const leaf = deps.logStore.leaf(tenant, index)
    if (leaf === undefined) break
    const record = await readOne(deps.store, leaf)
    if (record !== undefined && isStoredLeaf(deps.logStore, leaf, record)) {
      end = { ...end, last: { leaf, record } }
      low = index + 1
    } else {
      end = { ...end, gone: { leaf, code: record === undefined ? MISSING : OTHER_EVENT } }
      high = index
    }
  }
  return end
}

/** Reports the events that are missing from these positions, identified by their leaves; returns the positions without a leaf. */
export function nameMissing(
  { store, logStore, sealer }: StopDeps & Pick<LogDeps, 'sealer'>,
  positions: readonly Position[],
): readonly Position[] {
  const unnamed: Position[] = []
  for (const position of positions) {
    const leaf = leafAt({ store, logStore }, position)
    if (leaf === undefined) unnamed.push(position)
    else sealer.faultFound(missingFault(leaf))
  }
  return unnamed
}

export function missingFault({ stream, revision }: { readonly stream: string; readonly revision: number }): SealFault {
  return { stream, revision, code: MISSING, message: 'the log has it, the store has not' }
}

/** The positions without a record that no leaf identifies. A limited number is looked up; the rest counts as unidentified. */
export function unnamedIn(deps: StopDeps, missing: PositionRange | undefined): PositionRange | undefined {
  const { first, events } = missing ?? { first: '0', events: 0 }
  const positions = Array.from({ length: Math.min(events, NAMED_MAX) }, (_, n) => String(Number(first) + n))
  const unnamed = positions.filter((position) => leafAt(deps, position) === undefined)
  const beyond = Math.max(0, events - NAMED_MAX)
  const [from = String(Number(first) + NAMED_MAX)] = unnamed
  return unnamed.length + beyond > 0 ? { first: from, events: unnamed.length + beyond } : undefined
}

/** Positions without a record found between two records, minus those that a stream accounts for. */
export class Gaps {
  events: number
  first: Position | undefined
  readonly #deps: StopDeps

  constructor(deps: StopDeps) {
    const known = deps.logStore.progress()?.gap
    this.events = known?.events ?? 0
    this.first = known?.first
    this.#deps = deps
  }

  between(before: Position | undefined, next: Position): void {
    const first = Number(before ?? 0) + 1
    const unnamed = unnamedIn(this.#deps, { first: String(first), events: Number(next) - first })
    if (unnamed === undefined) return
    this.first ??= unnamed.first
    this.events += unnamed.events
  }

  /** Subtracts events that are missing from a known stream: the log of its tenant stops, and other tenants have lost nothing by them. */
  explained(events: number): void {
    this.events = Math.max(0, this.events - events)
    if (this.events === 0) this.first = undefined
  }

  get row(): PositionRange | undefined {
    return this.first === undefined ? undefined : { events: this.events, first: this.first }
  }
}
