/** @module What the ledger refused: one refusal for the code, whether the ledger answers or the record does. */
import { budgetRefusalText } from '../../../schemas/budget-refusal.ts'
import type { EventBody } from '../../../schemas/events.ts'
import { ANSWERS_TO_CODE, toldRefusal } from '../../../schemas/refused-request.ts'
import type { Problem } from '../runtime/connection.ts'

const CODE = 'budget-exceeded'
const KEY_REUSED = 'call-key-reused'

type Exceeded = Parameters<typeof budgetRefusalText>[0]

export function budgetRefusal({ agent, scope, dimension, limit, spent, reserved, requested }: Exceeded): Problem {
  const exceeded = { agent, scope, dimension, limit, spent, reserved, requested }
  return { code: CODE, detail: budgetRefusalText(exceeded), evidence: { ...exceeded, code: CODE } }
}

/** The ledger's answer as the record will tell it. */
export function asRecorded(problem: Problem): Problem {
  const { code, detail, evidence } = problem
  if (code === KEY_REUSED) {
    const { callId = null, expected = null, actual = null } = evidence
    return { code, detail, evidence: { callId, expected, actual } }
  }
  if (ANSWERS_TO_CODE.has(code)) return { code, ...toldRefusal(detail, evidence) }
  const isFromBudget = problem.code === CODE && problem.evidence.dimension !== undefined
  return isFromBudget ? budgetRefusal(problem.evidence as EventBody<'BudgetExceeded'>) : problem
}
