/** @module Refusals of the ledger in one form for the code, whether the ledger or the record answers. */
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

/** Converts the ledger's answer to the form in which the record holds it. */
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
