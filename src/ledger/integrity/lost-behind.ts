/** @module Detects events missing at the end of a run that was read from its first event, based on what the log knows of its stream. */
import type { Loss } from '../../../schemas/loss.ts'
import { recordDigest } from '../../signing/digests.ts'
import { type EventStore, type Position, readOne } from '../../store/event-store.ts'
import type { KnownHead } from '../log/tenant-logs.ts'

export interface HeadSource {
  readonly store: Pick<EventStore, 'readStream' | 'comparePositions'>
  /** Undefined if the log knows no event of the stream. */
  readonly known: KnownHead | undefined
}

/** `events`: number of events that were read, which are all up to `until`, or all there are if `until` is absent. */
export async function lostBehind(
  { store, known }: HeadSource,
  stream: string,
  { events, until }: { readonly events: number; readonly until?: Position | undefined },
): Promise<readonly Loss[]> {
  if (known === undefined || known.events < events) return []
  const lost = (revision: number, code: string): readonly Loss[] => [{ scope: 'run', code, stream, revision }]
  if (known.events > events) {
    // The log may have followed the store in the meantime: the event it knows either was added later or is missing.
    const next = await readOne(store, { stream, revision: events })
    if (next === undefined) return lost(events, 'missing')
    return until !== undefined && store.comparePositions(next.position, until) <= 0 ? lost(events, 'missing') : []
  }
  const last = await readOne(store, { stream, revision: events - 1 })
  if (last === undefined) return lost(events - 1, 'missing')
  return known.digest === undefined || recordDigest(last.header) === known.digest ? [] : lost(events - 1, 'leaf')
}
