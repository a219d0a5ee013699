/**
 * @module Finds events that the log passed over because the store did not have them then, and has them now. Positions that are dense or attested show such
 * a gap; on a store that has neither, only the events themselves do (STR-54).
 */
import { logTenant } from '../../signing/stream-tenant.ts'
import type { Position, ReadRecord, StoreReader } from '../../store/event-store.ts'
import type { LogStore } from '../../store/log-store.ts'

/** Number of events before the place that the log has reached that a start looks at, and at most twice as many. */
const NEAR = 1_000

type Logs = Pick<LogStore, 'leaf' | 'log' | 'logs' | 'progress' | 'stream'>

interface LateDeps {
  readonly store: Pick<StoreReader, 'attested' | 'comparePositions' | 'densePositions' | 'readAll'>
  readonly logStore: Logs
}

/** The reason to rebuild the files that follow the store if it has such an event near the place that the log has reached; otherwise undefined. */
export async function lateEvent(
  { store, logStore }: LateDeps,
  isSound: (record: ReadRecord) => boolean,
): Promise<string | undefined> {
  const until = logStore.progress()?.position
  if (until === undefined || !hidesGaps(store)) return undefined
  for await (const page of store.readAll({ after: nearPosition({ store, logStore }), until }))
    for (const record of page)
      if (isPassedOver({ store, logStore }, record) && isSound(record))
        return `${record.stream} @ ${record.revision} is in the store, and the log passed its place without it`
  return undefined
}

/** Whether the store neither has dense positions nor attests its events. */
export function hidesGaps({ densePositions, attested }: LateDeps['store']): boolean {
  return densePositions !== true && attested === undefined
}

/** Whether the log is past the place of an event and does not have it. A foreign stream and what comes after a stop are in no log. */
export function isPassedOver(
  { store, logStore }: { readonly store: LateDeps['store']; readonly logStore: Omit<Logs, 'leaf' | 'logs'> },
  { stream, revision, position }: ReadRecord,
): boolean {
  const tenant = logTenant(stream)
  if (tenant === undefined || !hidesGaps(store) || logStore.log(tenant)?.stopped !== undefined) return false
  const { nextRevision = 0, foreign = false } = logStore.stream(stream) ?? {}
  const reached = logStore.progress()?.position
  if (foreign || reached === undefined || revision < nextRevision) return false
  return store.comparePositions(position, reached) <= 0
}

/** Each log knows the positions of its own leaves only: some of each, at doubling distances from its end. Undefined: the beginning of the store. */
function nearPosition({ store, logStore }: LateDeps): Position | undefined {
  const marks: { readonly position: Position; readonly events: number }[] = []
  for (const { tenant, size } of logStore.logs()) {
    for (let distance = 1; distance < size && distance <= 2 * NEAR; distance *= 2) {
      const leaf = logStore.leaf(tenant, size - 1 - distance)
      if (leaf !== undefined) marks.push({ position: leaf.position, events: Math.ceil(distance / 2) })
    }
  }
  marks.sort((one, other) => store.comparePositions(other.position, one.position))
  let events = 0
  return marks.find((mark) => {
    events += mark.events
    return events >= NEAR
  })?.position
}
