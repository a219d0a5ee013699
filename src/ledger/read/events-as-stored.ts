/** @module Events of a run that does not verify, as they are in the store, each with the result of its own seal check. Nothing else relies on them. */
import { runStream } from '../../../schemas/names.ts'
import { withinRun } from '../../access/check-access.ts'
import type { EventStore } from '../../store/event-store.ts'
import { pacedPages } from '../../store/paced-pages.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Integrity } from '../integrity/integrity.ts'
import type { LedgerEvent } from '../ledger-event.ts'
import { shownEvent } from './record-seal.ts'
import { runNotFound } from './run-bodies.ts'

/** Maximum number of events per answer, which are held in memory together. */
const EVENTS_MAX = 500

export function eventsAsStored({
  store,
  sealer,
}: {
  readonly store: Pick<EventStore, 'readStream' | 'head'>
  readonly sealer: Sealer
}): Integrity['eventsAsStored'] {
  return async (caller, runId, { from, to }) => {
    const outside = withinRun(caller, runId)
    if (outside !== undefined) return { ok: false, refusal: outside }
    const stream = runStream(caller.tenant, runId)
    const last = await store.head(stream)
    if (last < 0) return { ok: false, refusal: runNotFound(runId) }
    const events: LedgerEvent[] = []
    const upTo = Math.min(to, last, from + EVENTS_MAX - 1)
    if (from <= upTo) {
      for await (const page of pacedPages(store.readStream(stream, { from, to: upTo }), caller.pace))
        for (const record of page) events.push(shownEvent(sealer, record))
    }
    return { ok: true, revision: last, value: events }
  }
}
