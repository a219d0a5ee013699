/** @module Reads events of a run, also of a damaged one. */
import type { Caller, Ledger } from '../ledger/ledger.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import { orRefused, Refused } from './page.ts'

type Reading = Pick<Ledger, 'runEvents' | 'integrity'>

/** The ledger builds no state for a run that does not verify; its events can be read one by one, each with the result of its seal check. */
export const isDamaged = ({ code }: { readonly code: string }): boolean => code === 'stream-damaged'

export async function readEvents(
  ledger: Reading,
  caller: Caller,
  { run, from, to }: { readonly run: string; readonly from: number; readonly to: number },
): Promise<readonly LedgerEvent[]> {
  const found = await ledger.runEvents(caller, run, { from, to })
  if (!found.ok && isDamaged(found.refusal))
    return orRefused(await ledger.integrity.eventsAsStored(caller, run, { from, to }))
  const events: LedgerEvent[] = []
  for await (const page of orRefused(found)) events.push(...page)
  return events
}

/** The event and the previous one. Throws `Refused` if the run has no such event. */
export async function readEvent(
  ledger: Reading,
  caller: Caller,
  { run, revision }: { readonly run: string; readonly revision: number },
): Promise<{ readonly event: LedgerEvent; readonly before: LedgerEvent | undefined }> {
  const events = await readEvents(ledger, caller, { run, from: Math.max(0, revision - 1), to: revision })
  const event = events.at(-1)
  if (event?.header.revision !== revision)
    throw new Refused({ code: 'unknown-step', detail: `The run has no event ${revision}.` })
  return { event, before: revision === 0 ? undefined : events.at(-2) }
}
