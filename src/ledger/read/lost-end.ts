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

/** The next event of the stream would take the place of a lost one. Throws what `lostEnd` resolves with. */
export async function refuseLostEnd(deps: LostEndDeps, stream: string, revision: number): Promise<void> {
  const lost = await lostEnd(deps, stream, revision)
  if (lost !== undefined) throw lost
}

/** The first missing event behind the last one that was read, which is reported; undefined if none is missing. `revision`: that of the last one, or -1. */
export async function lostEnd(
  { knownHead, sealer, store }: LostEndDeps,
  stream: string,
  revision: number,
): Promise<DamagedStreamError | undefined> {
  const { events } = knownHead?.(stream) ?? { events: 0 }
  // The log follows the store: its knowledge may be newer than what was read.
  if (events <= revision + 1 || (await store.head(stream)) >= events - 1) return undefined
  const lost = { stream, revision: revision + 1 }
  sealer.faultFound(missingFault(lost))
  return new DamagedStreamError(lost.stream, lost.revision, 'the log has this event, the store has not')
}
