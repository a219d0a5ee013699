/** @module Decisions of people on suspects (JUD-63, JUD-64). Pure. */
import type { RunState } from '../../projections/run-state.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { ReviewSuspects } from '../../schemas/requests.ts'
import { isPersonOf } from './approvals.ts'
import { append, type Decision, type Draft, type Env, mustBeOpen, refuse, refuseOnRecord } from './decision.ts'
import { type Refusal, refusal } from './refusal.ts'
import { decideRollback } from './rewind.ts'

/** Maximum number of suspect ids in the reason of a rollback. */
const TOLD_MAX = 10

type Review = ReviewSuspects & { readonly contextAt: (revision: number) => JsonObject | undefined }

/** Reviews all given suspects or none; a suspect that was closed before is not reviewed again. */
export function decideReview(state: RunState, review: Review, env: Env): Decision {
  const { suspects, decision, reason, runFence } = review
  const ended = mustBeOpen(state, runFence)
  if (ended !== undefined) return refuse(ended)
  const ids = [...new Set(suspects)]
  const wrong = ids.map((id) => reviewFault(state, { id, decision }, env)).find((each) => each !== undefined)
  if (wrong !== undefined) {
    return refuseOnRecord(state, env, { refusal: wrong, fingerprint: { suspects: ids, decision } })
  }
  const reviewed: Draft = { type: 'SuspectReviewed', data: { v: 1, suspects: ids, decision, reason } }
  return decision === 'confirmed' ? append(reviewed) : rejected(state, { ...review, suspects: ids }, reviewed)
}

function reviewFault(
  state: RunState,
  { id, decision }: { readonly id: string; readonly decision: ReviewSuspects['decision'] },
  env: Env,
): Refusal | undefined {
  const suspect = state.suspects.find((each) => each.id === id)
  if (suspect === undefined) return isGone(state, id) ? closedRefusal(id, 'rolled back') : notFound(id)
  if (suspect.closed !== undefined) return closedRefusal(id, `closed by a ${suspect.closed.by}`)
  if (decision === 'rejected' || !isPersonOf(suspect.by, env)) return undefined
  return refusal('self-review', 'who handed a value over cannot confirm it; another person has to, or reject it', {
    evidence: { suspect: id },
  })
}

/** Whether the suspect is of a step that is no longer on the lineage of the current context. */
function isGone({ step, lineage }: RunState, id: string): boolean {
  const of = Number.parseInt(id, 10)
  return of <= step && !lineage.some((each) => each.step === of)
}

function notFound(id: string): Refusal {
  const detail = `this run has no suspect ${id}: list those that it has (GET /v1/runs/{run}/suspects)`
  return refusal('suspect-not-found', detail, { pointer: '/suspects', evidence: { suspect: id } })
}

function closedRefusal(id: string, how: string): Refusal {
  const detail = `there is nothing to review: the suspect ${id} was ${how}`
  return refusal('suspect-closed', detail, { pointer: '/suspects', evidence: { suspect: id } })
}

/** Rolls back to the context before the first of the suspects, and denies approvals that show suspects of the undone handoffs. */
function rejected(state: RunState, { suspects, runFence, contextAt }: Review, reviewed: Draft): Decision {
  const first = Math.min(...suspects.map((id) => Number.parseInt(id, 10)))
  const at = state.lineage.findIndex(({ step }) => step === first)
  const toStep = state.lineage[at - 1]?.step ?? 0
  const reason = `rejected: ${suspects.slice(0, TOLD_MAX).join(', ')}`
  const rolledBack = decideRollback(state, {
    reason,
    toStep,
    contextAt,
    ...(runFence !== undefined && { runFence }),
  })
  if (rolledBack.kind !== 'append') return rolledBack
  return append(...deniedWith(state, toStep), ...rolledBack.drafts, reviewed)
}

function deniedWith({ approvals }: RunState, toStep: number): Draft[] {
  const isUndone = (id: string): boolean => Number.parseInt(id, 10) > toStep
  return Object.values(approvals)
    .filter(({ status }) => status === 'pending' || status === 'granted')
    .filter(({ needs }) => needs.some(({ suspects = [] }) => suspects.some(isUndone)))
    .map(({ approvalId, tool, argsDigest }) => ({
      type: 'ApprovalDenied',
      data: { v: 1, approvalId, tool, argsDigest, comment: 'a suspect that it shows was rejected' },
    }))
}
