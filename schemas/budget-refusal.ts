/** @module The text of a refusal by a budget, used both for the ledger's answer and for replays of the record. */
import type { EventBody } from './events.ts'

type Exceeded = Omit<EventBody<'BudgetExceeded'>, 'v' | 'fingerprint' | 'claim' | 'handoff'>

export function budgetRefusalText({ agent, scope, dimension, limit, spent, reserved, requested }: Exceeded): string {
  const holder = scope === 'run' ? 'the run' : `agent ${agent}`
  return `${requested} ${dimension} would take ${holder} over its limit of ${limit} (${spent} spent, ${reserved} reserved)`
}
