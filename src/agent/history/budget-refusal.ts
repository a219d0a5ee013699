/** @module What the budget refused, as the ledger answered then. */
import type { EventBody } from '../../../schemas/events.ts'
import type { Problem } from '../runtime/connection.ts'

export function budgetRefusal(body: EventBody<'BudgetExceeded'>): Problem {
  const { v: _, fingerprint: __, claim: ___, handoff: ____, ...exceeded } = body
  const { requested, dimension, scope, limit, spent, reserved } = exceeded
  const code = 'budget-exceeded'
  const detail = `${requested} ${dimension} were over the limit of ${limit} of the ${scope} (${spent} spent, ${reserved} reserved)`
  return { code, detail, evidence: { ...exceeded, code } }
}
