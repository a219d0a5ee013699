/** @module Rules `invariant` and `low-confidence`: what a policy says must hold of every accepted handoff. */
import { parseExpression } from '../../../../schemas/expression.ts'
import type { JsonObject } from '../../../../schemas/json.ts'
import type { PlacePolicy } from '../../../../schemas/place-policy.ts'
import type { Paced, Pauses } from '../../paced.ts'
import { addFinding, type Report } from '../report.ts'
import { type Budget, evaluate, STEPS_MAX } from './evaluate.ts'

/** Of an expression that is read. */
const PARSE_STEPS = 500

type Invariant = NonNullable<PlacePolicy['invariants']>[number]

export function* checkInvariants(
  invariants: readonly Invariant[],
  documents: { readonly before: JsonObject; readonly after: JsonObject },
  { report, pauses }: { readonly report: Report; readonly pauses: Pauses },
): Paced<void> {
  const budget: Budget = { stepsLeft: STEPS_MAX, members: new Map() }
  for (const { name, expression } of invariants) {
    const { stepsLeft } = budget
    const parsed = parseExpression(expression)
    const outcome = parsed.ok ? evaluate(parsed.expression, documents, budget) : 'fails'
    pauses.count(PARSE_STEPS + stepsLeft - budget.stepsLeft)
    if (pauses.due()) yield
    if (outcome === 'holds' || outcome === 'unknown') continue
    const message =
      outcome === 'fails'
        ? `the policy's invariant "${name}" does not hold: ${expression}`
        : `the policy's invariant "${name}" takes more than ${STEPS_MAX} steps on this context and was not judged to its end`
    addFinding(report, { rule: 'invariant', severity: 'error', path: '', message })
  }
}

export function checkConfidence(confidence: number | undefined, min: number | undefined, report: Report): void {
  if (min === undefined || confidence === undefined || confidence >= min) return
  addFinding(report, {
    rule: 'low-confidence',
    severity: 'error',
    path: '',
    before: min,
    after: confidence,
    message: `the policy wants at least ${min} of what was established kept`,
  })
}
