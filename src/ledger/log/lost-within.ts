/**
 * @module Finds events that the store has lost among those that the logs have followed, although it still holds the last of them: the end of a run, or a
 * whole run, that somebody deleted while no ledger ran (LOG-46).
 */
import type { Position, StoreReader } from '../../store/event-store.ts'
import type { LeafRow, LogRow, LogStore } from '../../store/log-store.ts'
import { holdsLeaf, leafAt } from './log-stops.ts'

/** Number of leaves whose events are counted at once. */
const LEAVES_AT_ONCE = 4_096

export interface LostWithinDeps {
  readonly store: Pick<StoreReader, 'comparePositions' | 'countEvents' | 'readAll' | 'readStream'>
  readonly logStore: Pick<LogStore, 'leaf' | 'leaves' | 'logs' | 'tile'>
  /** Whether the event of a leaf is acknowledged as lost. */
  readonly isAcknowledged: (leaf: LeafRow) => Promise<boolean> | boolean
}

/** The first such event of each log that is not stopped. `missing`: the first positions without a record, of a store with dense positions. */
export async function lostWithin(deps: LostWithinDeps, missing: readonly Position[]): Promise<readonly LeafRow[]> {
  const { store, logStore } = deps
  const named = missing.flatMap((position) => leafAt({ store, logStore }, position) ?? [])
  const lost: LeafRow[] = []
  for (const row of logStore.logs()) {
    if (row.stopped !== undefined) continue
    const ofLog = named.filter(({ tenant }) => tenant === row.tenant)
    const first = (await firstLost(deps, ofLog)) ?? (await firstUncounted(deps, row))
    if (first !== undefined) lost.push(first)
  }
  return lost
}

/** Counting takes a query for some thousand leaves; only where the number is another one are the events themselves read. */
async function firstUncounted(deps: LostWithinDeps, { tenant, size }: LogRow): Promise<LeafRow | undefined> {
  const { store, logStore } = deps
  let after: Position | undefined
  for (let from = 0; store.countEvents !== undefined && from < size; from += LEAVES_AT_ONCE) {
    const to = Math.min(size, from + LEAVES_AT_ONCE)
    const until = logStore.leaf(tenant, to - 1)?.position
    if (until === undefined) return undefined
    if ((await store.countEvents(tenant, { after, until })) !== to - from) {
      const held = new Set<Position>()
      for await (const page of store.readAll({ tenant, after, until }))
        for (const { position } of page) held.add(position)
      const absent = logStore.leaves(tenant, from, to).filter(({ position }) => !held.has(position))
      const lost = await firstLost(deps, absent)
      if (lost !== undefined) return lost
    }
    after = until
  }
  return undefined
}

/** The first of these leaves of one log whose event the store does not have, and whose loss is not acknowledged. */
async function firstLost(
  { store, logStore, isAcknowledged }: LostWithinDeps,
  leaves: readonly LeafRow[],
): Promise<LeafRow | undefined> {
  for (const leaf of leaves) {
    if (!(await isAcknowledged(leaf)) && !(await holdsLeaf({ store, logStore }, leaf.tenant, leaf.index))) return leaf
  }
  return undefined
}
