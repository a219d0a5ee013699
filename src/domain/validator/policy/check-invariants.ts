/** @module Rules `invariant` and `low-confidence`: what a policy says must hold of every accepted handoff. */
import { parseExpression } from '../../../../schemas/expression.ts'
import type { JsonObject } from '../../../../schemas/json.ts'
import type { PlacePolicy } from '../../../../schemas/place-policy.ts'
import { addFinding, type Report } from '../report.ts'
import { type Budget, evaluate, STEPS_MAX } from './evaluate.ts'

type Invariant = NonNullable<PlacePolicy['invariants']>[number]

export function checkInvariants(
  invariants: readonly Invariant[],
  documents: { readonly before: JsonObject; readonly after: JsonObject },
  report: Report,
): void {
  const budget: Budget = { stepsLeft: STEPS_MAX }
  for (const { name, expression } of invariants) {
    const parsed = parseExpression(expression)
    const outcome = parsed.ok ? evaluate(parsed.expression, documents, budget) : 'fails'
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
