/** @module One event of a run, with its neighbours where they are requested. */
import type { Caller, Ledger } from '../ledger/ledger.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import { orRefused, Refused } from './page.ts'

type Reading = Pick<Ledger, 'runEvents' | 'integrity'>

/** The ledger makes nothing of a run that does not verify; its events can be looked at one by one, each with its seal. */
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

/** The event, and the one before it. Throws `Refused` where the run has none there. */
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
