/** @module The decision on a step: a call without effects that ran before it was claimed; claim and outcome are one append (RUN-210 to RUN-214). */
import { callByKey, type RunState, safeKey } from '../../projections/run-state.ts'
import { ANSWERS_TO_CODE } from '../../schemas/refused-request.ts'
import type { ClaimCall, StepOutcome } from '../../schemas/requests.ts'
import type { ClaimEnv } from './approval-gate.ts'
import { callKey, decideClaim } from './calls.ts'
import { append, type Decision, mustOwn, type Refused, refuse } from './decision.ts'
import { type Refusal, refusal } from './refusal.ts'
import { outcomeDrafts } from './settle.ts'

export function decideClaimOrStep(state: RunState, claim: ClaimCall, env: ClaimEnv): Decision {
  const { outcome } = claim
  return outcome === undefined ? decideClaim(state, claim, env) : decideStep(state, { ...claim, outcome }, env)
}

/**
 * The first append of a key wins: if the call has a result, the answer is that result. Every rule of a claim applies. What a claim would put on
 * record about its refusal is left to the claim that follows.
 */
function decideStep(state: RunState, claim: ClaimCall & { readonly outcome: StepOutcome }, env: ClaimEnv): Decision {
  const reason = mustBeClaimed(state, claim, env)
  if (reason !== undefined) return refuse(mustOwn(state, claim.runFence) ?? claimFirst(reason))
  const decided = decideClaim(state, claim, env)
  if (decided.kind === 'refuse') return isRecorded(decided) ? refuse(claimFirst(decided.refusal.detail)) : decided
  if (decided.kind !== 'append') return decided
  const claimed = decided.drafts.at(-1)
  if (claimed?.type !== 'ToolCallClaimed') return decided
  const { callId, fence, phase } = claimed.data
  return append(...decided.drafts, ...outcomeDrafts({ callId, fence, phase }, { fence, ...claim.outcome }))
}

/** Whether a claim records the refusal, or events that led to it. */
function isRecorded({ refusal: { code }, record, before }: Refused): boolean {
  return record !== undefined || before !== undefined || ANSWERS_TO_CODE.has(code)
}

/** Why this call has to be claimed before it runs; undefined if it may be recorded with its outcome. */
function mustBeClaimed(state: RunState, claim: ClaimCall, env: ClaimEnv): string | undefined {
  if (claim.effects !== 'none') return 'only a call that declares effects "none" runs before it is claimed'
  const { phase = 'forward', reserve, approve, approval, compensate, after } = claim
  if (after === undefined) return 'after says what its code knew when it asked for the call'
  const declaresMore = [reserve, approve, approval].some((member) => member !== undefined)
  if (phase !== 'forward' || declaresMore || typeof compensate === 'object')
    return 'a call with a phase, a reservation, an approval or a compensation of its own is claimed before it runs'
  const tools = claimedFirst(state, env.tenantPolicy, claim.agent ?? env.actor)
  if (tools === true) return 'a rule of this run or of its tenant names every call'
  if (tools.includes(claim.tool)) return `a rule names ${claim.tool}`
  // An approval that was requested before counts, whatever the rules say now.
  const asked = state.approvalKeys[safeKey(`${phase} ${callKey(claim, env.digestOf)}`)]
  const known = callByKey(state, phase, callKey(claim, env.digestOf))
  return asked === undefined && known?.approvalId === undefined ? undefined : 'an approval was asked for this call'
}

/**
 * The tools whose calls are claimed before they run; `true` for every tool. `agent`: only the manifest of this agent counts; by default those of
 * all agents.
 */
export function claimedFirst(
  { policy, manifests }: RunState,
  tenant: ClaimEnv['tenantPolicy'],
  agent?: string,
): true | readonly string[] {
  if (policy.claimFirst === true || tenant?.claimFirst === true) return true
  // What a rule leaves out of the record has to be found before anything is recorded.
  if (policy.redaction !== undefined || tenant?.redaction !== undefined) return true
  const told = agent === undefined ? Object.values(manifests) : [manifests[safeKey(agent)]]
  const rules = [...(policy.approve ?? []), ...told.flatMap((each) => each?.manifest.policy?.approve ?? [])]
  if (rules.some(({ tools }) => tools === undefined)) return true
  return [...new Set(rules.flatMap(({ tools = [] }) => tools))]
}

function claimFirst(reason: string): Refusal {
  return refusal('claim-first', `nothing was recorded: ${reason}; claim the call, run it, and settle it`)
}
