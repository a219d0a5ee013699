/** @module One event of a run, with its neighbours where they are requested. */
import type { Caller, Ledger } from '../ledger/ledger.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import { orRefused, Refused } from './page.ts'

export async function readEvents(
  ledger: Pick<Ledger, 'runEvents'>,
  caller: Caller,
  { run, from, to }: { readonly run: string; readonly from: number; readonly to: number },
): Promise<readonly LedgerEvent[]> {
  const events: LedgerEvent[] = []
  for await (const page of orRefused(await ledger.runEvents(caller, run, { from, to }))) events.push(...page)
  return events
}

/** The event, and the one before it. Throws `Refused` where the run has none there. */
export async function readEvent(
  ledger: Pick<Ledger, 'runEvents'>,
  caller: Caller,
  { run, revision }: { readonly run: string; readonly revision: number },
): Promise<{ readonly event: LedgerEvent; readonly before: LedgerEvent | undefined }> {
  const events = await readEvents(ledger, caller, { run, from: Math.max(0, revision - 1), to: revision })
  const event = events.at(-1)
  if (event?.header.revision !== revision)
    throw new Refused({ code: 'unknown-step', detail: `The run has no event ${revision}.` })
  return { event, before: revision === 0 ? undefined : events.at(-2) }
}
