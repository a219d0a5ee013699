/** @module Refuses to continue a stream whose last events are missing, based on what the log knows of it (LOG-48, LOG-70). */
import type { EventStore } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import { missingFault } from '../log/log-stops.ts'
import type { KnownHead } from '../log/tenant-logs.ts'
import { DamagedStreamError } from './verified-events.ts'

/** What the log knows of a stream: the minimum number of its events. Undefined if it knows none. */
export type KnownEnd = (stream: string) => Pick<KnownHead, 'events'> | undefined

export interface LostEndDeps {
  readonly store: Pick<EventStore, 'head'>
  /** The loss is reported to it. */
  readonly sealer: Pick<Sealer, 'faultFound'>
  /** Absent if no log is kept. */
  readonly knownHead?: KnownEnd | undefined
}

/**
 * The next event of the stream would take the place of a lost one. `revision`: that of the last event that was read, -1 if there was none. Throws
 * `DamagedStreamError`.
 */
export async function refuseLostEnd(
  { knownHead, sealer, store }: LostEndDeps,
  stream: string,
  revision: number,
): Promise<void> {
  const { events } = knownHead?.(stream) ?? { events: 0 }
  // The log follows the store: its knowledge may be newer than what was read.
  if (events <= revision + 1 || (await store.head(stream)) >= events - 1) return
  const lost = { stream, revision: revision + 1 }
  sealer.faultFound(missingFault(lost))
  throw new DamagedStreamError(lost.stream, lost.revision, 'the log has this event, the store has not')
}
