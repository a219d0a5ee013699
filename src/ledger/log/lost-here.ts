/** @module Determines whether an event of a tenant is lost at this moment, and which event it was, for an acknowledgement of the loss (LOG-63). */

import { ACKNOWLEDGED_MAX } from '../../../schemas/events/loss-acknowledged.ts'
import type { EventBody } from '../../../schemas/events.ts'
import { leafHash, sameHash } from '../../merkle/hashes.ts'
import { digestText, recordDigest } from '../../signing/digests.ts'
import { readHeader } from '../../signing/header-reader.ts'
import { type EventStore, type Position, type ReadRecord, readOne } from '../../store/event-store.ts'
import type { LogStop, LogStore } from '../../store/log-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import { sealFaults } from '../read/record-seal.ts'
import { leafHashAt } from './leaf-hash.ts'
import { leavesUpTo } from './leaf-places.ts'
import { ACKNOWLEDGED_LATER, CHECKPOINT_MISMATCH, holdsLeaf, MISSING } from './log-stops.ts'

type Body = EventBody<'LossAcknowledged'>
/** The body of the acknowledgement except for its reason. */
export type Lost = Omit<Body, 'v' | 'reason'>

export type LostHere =
  | { readonly kind: 'lost'; readonly lost: Lost }
  /** The event is in its place and valid, or never existed. */
  | { readonly kind: 'not-lost' }
  /** The event is lost, and nothing shows which event or which leaf it was: no log can continue past it. */
  | { readonly kind: 'unknown'; readonly why: string }

export interface LostHereDeps {
  readonly store: Pick<EventStore, 'readStream' | 'comparePositions' | 'missingPositions'>
  readonly logStore: Pick<LogStore, 'log' | 'leaf' | 'leafPlaces' | 'tile' | 'stream'>
  readonly sealer: Sealer
}

export interface LostPlace {
  readonly tenant: string
  readonly stream: string
  readonly revision: number
}

const PLACES_AT_ONCE = 4_096
/** Maximum number of positions without a record that are searched for the position of the event. */
const MISSING_MAX = 100
/** If these are the only faults, the header is the one that was sealed. */
const OF_THE_BODY: ReadonlySet<string> = new Set(['data-digest', 'data-not-canonical', 'archive-damaged'])

export async function lostHere(deps: LostHereDeps, place: LostPlace): Promise<LostHere> {
  const near = leavesFrom(deps, place, await leavesBefore(deps, place))
  if (near(place.revision) !== undefined) return byItsLeaf(deps, place, near)
  // The event before it may have been moved.
  const all = leavesFrom(deps, place, 0)
  return all(place.revision) === undefined ? byItsNeighbours(deps, place) : byItsLeaf(deps, place, all)
}

/** Number of leaves up to the event before the place in its stream, behind which its own leaf lies; 0 if the store has no such event. */
async function leavesBefore(
  { store, logStore }: LostHereDeps,
  { tenant, stream, revision }: LostPlace,
): Promise<number> {
  const before = revision === 0 ? undefined : await readOne(store, { stream, revision: revision - 1 })
  const size = logStore.log(tenant)?.size ?? 0
  const places = { leaves: logStore, comparePositions: store.comparePositions }
  return before === undefined ? 0 : leavesUpTo(places, { tenant, size }, before.position)
}

/** Index of the leaf of an event of the stream; leaves are read only as far as they are asked for (LOG-71). */
type LeafOf = (revision: number) => number | undefined

function leavesFrom({ logStore }: LostHereDeps, { tenant, stream, revision }: LostPlace, from: number): LeafOf {
  const found = new Map<number, number>()
  const size = logStore.log(tenant)?.size ?? 0
  const end = logStore.stream(stream)?.nextRevision ?? 0
  let read = from
  return (at) => {
    // The log knows no event behind its end of the stream.
    if (at > revision && at >= end) return found.get(at)
    while (!found.has(at) && read < size) {
      const to = Math.min(size, read + PLACES_AT_ONCE)
      for (const [index, name, each] of logStore.leafPlaces(tenant, read, to))
        if (name === stream) found.set(each, index)
      read = to
    }
    return found.get(at)
  }
}

/** The log has leaves for these events: counts how many consecutive ones are lost in the same way. */
async function byItsLeaf(
  deps: LostHereDeps,
  { tenant, stream, revision }: LostPlace,
  leafOf: LeafOf,
): Promise<LostHere> {
  const leaves: Body['leaves'] = []
  let first: ReturnType<typeof faultAt> | undefined
  for (let at = revision; leaves.length < ACKNOWLEDGED_MAX; at += 1) {
    const index = leafOf(at)
    const hash = index === undefined ? undefined : leafHashAt(deps.logStore, { tenant, index })
    if (index === undefined || hash === undefined) break
    const fault = faultAt(deps, await readOne(deps.store, { stream, revision: at }), hash)
    if (fault === undefined || (first !== undefined && fault.what !== first.what)) break
    first ??= fault
    leaves.push({ index, digest: digestText(hash) })
  }
  if (first === undefined) return { kind: 'not-lost' }
  return {
    kind: 'lost',
    lost: { stream, from: revision, to: revision + leaves.length - 1, ...first, seenBy: 'log', leaves },
  }
}

function faultAt(
  { sealer }: LostHereDeps,
  record: ReadRecord | undefined,
  hash: Uint8Array,
): Pick<Lost, 'what' | 'code'> | undefined {
  if (record === undefined) return { what: 'missing', code: MISSING }
  const [fault] = sealFaults(sealer, record)
  if (fault !== undefined) return { what: 'damaged', code: fault.code }
  return sameHash(leafHash(record.header), hash) ? undefined : { what: 'damaged', code: 'leaf' }
}

/** The log stopped at the event: its own header, or the header of the next event in its stream, identifies it. Covers one event. */
async function byItsNeighbours(deps: LostHereDeps, place: LostPlace): Promise<LostHere> {
  const { store, logStore, sealer } = deps
  const { tenant, stream, revision } = place
  const stopped = logStore.log(tenant)?.stopped
  const isDue = (logStore.stream(stream)?.nextRevision ?? 0) === revision
  if (stopped?.stream !== stream || stopped.code === CHECKPOINT_MISMATCH || !isDue) return { kind: 'not-lost' }
  const record = await readOne(store, { stream, revision })
  const faults = record === undefined ? [] : sealFaults(sealer, record)
  if (record !== undefined && faults.length === 0) return { kind: 'not-lost' }
  const next = await readOne(store, { stream, revision: revision + 1 })
  const isBodyAlone = record !== undefined && faults.every(({ code }) => OF_THE_BODY.has(code))
  const digest = isBodyAlone ? recordDigest(record.header) : prevOf(sealer, next)
  if (digest === undefined) return { kind: 'unknown', why: 'no event behind it in its stream says which one it was' }
  const index =
    record === undefined
      ? await missingIndex(deps, place, { stopped, next })
      : damagedIndex(deps, { tenant, stopped, record })
  if (index === undefined) return { kind: 'unknown', why: 'nothing says where in the log it was' }
  const fault = { what: record === undefined ? 'missing' : 'damaged', code: faults[0]?.code ?? MISSING } as const
  return {
    kind: 'lost',
    lost: { stream, from: revision, to: revision, ...fault, seenBy: 'store', leaves: [{ index, digest }] },
  }
}

function prevOf(sealer: Sealer, next: ReadRecord | undefined): string | undefined {
  const read = next && readHeader(next.header)
  return next !== undefined && read?.ok === true && sealFaults(sealer, next).length === 0 ? read.header.prev : undefined
}

/** The log stopped at the record itself, so that its leaf would have been the next one. */
function damagedIndex(
  { logStore }: LostHereDeps,
  { tenant, stopped, record }: { readonly tenant: string; readonly stopped: LogStop; readonly record: ReadRecord },
): number | undefined {
  return record.position === stopped.position ? logStore.log(tenant)?.size : undefined
}

/** Undefined if there are leaves between the positions that the event may have had. */
async function missingIndex(
  { store, logStore }: LostHereDeps,
  { tenant, stream, revision }: LostPlace,
  { stopped, next }: { readonly stopped: LogStop; readonly next: ReadRecord | undefined },
): Promise<number | undefined> {
  const size = logStore.log(tenant)?.size ?? 0
  const places = { leaves: logStore, comparePositions: store.comparePositions }
  const upTo = (position: Position): number => leavesUpTo(places, { tenant, size }, position)
  // The writer attested the position of the event.
  if (stopped.digest === undefined) return upTo(stopped.position)
  const before = revision === 0 ? undefined : await readOne(store, { stream, revision: revision - 1 })
  if (next === undefined || (revision > 0 && before === undefined)) return undefined
  const isBetween = (position: Position): boolean =>
    store.comparePositions(position, next.position) < 0 &&
    (before === undefined || store.comparePositions(position, before.position) > 0)
  const missing = (await store.missingPositions?.(MISSING_MAX)) ?? []
  const found = missing.filter(isBetween)
  const ends = [before === undefined ? 0 : upTo(before.position), upTo(next.position)]
  const indexes = new Set(found.length > 0 && missing.length < MISSING_MAX ? found.map(upTo) : ends)
  const [index] = indexes
  return indexes.size === 1 ? index : undefined
}

/** For a log with leaves whose events are missing, the first such event of each stream; otherwise the event that was due where the log stopped. */
export async function lostPlaces(
  { store, logStore }: Pick<LostHereDeps, 'store' | 'logStore'>,
  tenant: string,
): Promise<readonly Pick<LostPlace, 'stream' | 'revision'>[]> {
  const { stopped, size = 0 } = logStore.log(tenant) ?? {}
  // An acknowledgement that has to wait is not lost itself.
  if (stopped === undefined || stopped.code === CHECKPOINT_MISMATCH || stopped.code === ACKNOWLEDGED_LATER) return []
  const { stream, lostLeaf } = stopped
  if (lostLeaf === undefined)
    return [{ stream, revision: Math.min(stopped.revision, logStore.stream(stream)?.nextRevision ?? 0) }]
  const first = new Map<string, number>()
  for (const [index, name, revision] of logStore.leafPlaces(
    tenant,
    lostLeaf,
    Math.min(size, lostLeaf + PLACES_AT_ONCE),
  ))
    if (!first.has(name) && !(await holdsLeaf({ store, logStore }, tenant, index))) first.set(name, revision)
  return [...first].map(([name, revision]) => ({ stream: name, revision }))
}
