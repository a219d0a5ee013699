/** @module Judgements of an external judge on a handoff: how they are recorded, and their effect on the next handoff (JUD-32 to JUD-34). Pure. */

import { lastStep, type RunState, safeKey } from '../../projections/run-state.ts'
import { FINDINGS_MAX, type Finding } from '../../schemas/finding.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { isEqual } from '../../schemas/json.ts'
import { parsePointer, valueAt } from '../../schemas/json-pointer.ts'
import type { RecordJudgement } from '../../schemas/requests.ts'
import { append, type Decision, mustBeOpen, refuse } from './decision.ts'
import { type Refusal, refusal } from './refusal.ts'
import { enforced } from './validator/outcome.ts'
import { withManifestPolicy } from './validator/policy/with-manifest.ts'
import { isCovered, type Supersession, type Supersessions } from './validator/supersedes.ts'
import type { Verdict } from './validator/validate.ts'

export function decideJudgement(state: RunState, { runFence, findings = [], ...said }: RecordJudgement): Decision {
  const closed = mustBeOpen(state, runFence)
  if (closed !== undefined) return refuse(closed)
  const judged = state.lineage.find(({ step }) => step === said.step)
  if (judged === undefined || said.step === 0) {
    return refuse(
      refusal('unknown-step', `step ${said.step} is not one that leads to the context now`, {
        pointer: '/step',
        evidence: { steps: state.lineage.map(({ step }) => step).slice(-20) },
      }),
    )
  }
  const data = {
    v: 1 as const,
    agent: judged.agent,
    ...said,
    findings: findings.map((each) => findingOf(each, 'warning')),
  }
  return append({ type: 'JudgementRecorded', data })
}

function findingOf({ path, message }: { path: string; message: string }, severity: 'warning' | 'error'): Finding {
  return { rule: 'judged', severity, path, message }
}

export interface NextHandoff {
  readonly after: JsonObject
  readonly supersedes: readonly Supersession[] | undefined
}

type Judged = Pick<Verdict, 'verdict' | 'findings' | 'findingsTotal'>

/** The verdict on a handoff under a policy with `judge: "reject"`: adds the open findings of the judgement on the handoff it builds on. */
export function withJudgement<T extends Judged>(state: RunState, next: NextHandoff, verdict: T): T {
  const open = openFindings(state, next)
  if (open.length === 0) return verdict
  const judged: T = {
    ...verdict,
    verdict: 'reject',
    findings: [...open, ...verdict.findings].slice(0, FINDINGS_MAX),
    findingsTotal: verdict.findingsTotal + open.length,
  }
  return enforced(judged, state.policy)
}

/** Whether the run's policy, or a manifest of these agents, sets `judge: "reject"`. */
export function heedsJudge(state: RunState, agents: readonly string[]): boolean {
  const policy = agents.reduce(
    (before, agent) => withManifestPolicy(before, state.manifests[safeKey(agent)]?.manifest.policy),
    state.policy,
  )
  return policy.judge === 'reject'
}

/** The refusal to fork while the judge objects to the established context or has not judged it, because a fork freezes that context. */
export function judgedFault(state: RunState, agents: readonly string[]): Refusal | undefined {
  if (!heedsJudge(state, agents)) return undefined
  const findings = openFindings(state, { after: state.context, supersedes: undefined })
  if (findings.length === 0) return undefined
  const step = lastStep(state)
  return refusal('contradiction', `the fork would build on step ${step}, which a judge objects to or has not judged`, {
    evidence: { findings: findings as unknown as Json, restored: { step, contextDigest: state.contextDigest } },
  })
}

/** Findings of the judge that the next handoff neither changes nor supersedes. A missing verdict does not count as approval. */
function openFindings(state: RunState, { after, supersedes = [] }: NextHandoff): readonly Finding[] {
  const step = lastStep(state)
  const { judgement } = state
  if (step === 0 || (state.branchOf !== undefined && step === state.branchOf.atStep)) return []
  if (judgement?.step !== step)
    return [refusing(`the handoff of step ${step} has not been judged yet: have it judged, or roll back`)]
  if (judgement.verdict === 'accept') return []
  if (judgement.verdict === 'unavailable') {
    return [
      refusing(
        `the judge gave no verdict on step ${step} (${judgement.reason ?? 'no reason'}): have it judged again, or roll back`,
      ),
    ]
  }
  if (judgement.findings.length === 0) {
    return [refusing(`the judge rejected step ${step} and named no place: have it judged again, or roll back`)]
  }
  const covered = supersedes.map(({ path }) => parsePointer(path)).filter((each) => each !== undefined) as Supersessions
  return judgement.findings
    .filter(({ path }) => !isSettled(state.context, after, { path, covered }))
    .map(({ path, message }) => ({
      ...findingOf({ path, message }, 'error'),
      ...(path === '' ? {} : { supersede: { path, reason: '' } }),
    }))
}

function refusing(message: string): Finding {
  return findingOf({ path: '', message }, 'error')
}

/** Whether the next handoff answers the objection to a place: it supersedes the place, or changes its value. */
function isSettled(
  before: JsonObject,
  after: JsonObject,
  { path, covered }: { readonly path: string; readonly covered: Supersessions },
): boolean {
  const tokens = parsePointer(path) ?? []
  if (tokens.length === 0) return false
  const [was, is] = [valueAt(before, tokens), valueAt(after, tokens)]
  return isCovered(covered, tokens) || !isSame(was, is)
}

function isSame(a: Json | undefined, b: Json | undefined): boolean {
  return a === undefined || b === undefined ? a === b : isEqual(a, b)
}
