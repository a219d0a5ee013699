/** @module The validator: judges a handoff against what is established (JUD-1 to JUD-29). Pure. */
import { isEqual } from '../../../projections/json-equality.ts'
import { unionKeys } from '../../../projections/set-text.ts'
import type { Diff, Finding } from '../../../schemas/finding.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { formatPointer } from '../../../schemas/json-pointer.ts'
import type { ResolvedPolicy } from '../../../schemas/policy.ts'
import { RULES_NOW } from '../../../schemas/value-forms.ts'
import { checkSchema } from './check-schema.ts'
import { compareCriticalKey } from './compare.ts'
import { compareOther } from './compare-other.ts'
import type { Excuse } from './established/changes.ts'
import * as established from './established/check-established.ts'
import type { Evidence } from './evidence.ts'
import { checkRecorded } from './grounding/check-recorded.ts'
import { movedByTool, recordedGain } from './grounding/moved-by-tool.ts'
import { checkConfidence, checkInvariants } from './policy/check-invariants.ts'
import { relayFindings } from './relay.ts'
import { addDifference, addFinding, countLeaves, emptyReport, type Report, reportedFindings } from './report.ts'
import { checkSupersessions, isCovered, type Supersession, type Supersessions } from './supersedes.ts'
import { checkGrounds } from './ungrounded.ts'

export interface HandoffInput {
  /** The context established now. */
  readonly before: JsonObject
  /** The context that the handoff asks for, after `applyMode`. */
  readonly after: JsonObject
  readonly policy: ResolvedPolicy
  readonly supersedes?: readonly Supersession[]
  /** What this run has recorded so far; without it nothing can be called ungrounded. */
  readonly evidence?: Evidence
  /** Top-level keys that the agent's manifest lets it change; undefined: all. */
  readonly writes?: readonly string[]
  /** JSON Schema (2020-12) registered for the agent's payloads. */
  readonly schema?: JsonObject
  /** Most tokens that the agent's manifest lets it hand over, and what it says it did. */
  readonly maxTokens?: number
  readonly tokens?: number
  /** What the agent handed over, where that is not `after` itself: the schema is about this. */
  readonly payload?: JsonObject
  /** Who hands over: a policy may name who may supersede. */
  readonly agent?: string
  /** What else than a supersession may permit a change (rule set 2). */
  readonly excuse?: Excuse
  /** The run's first handoff: policy `relay` does not judge it. */
  readonly first?: boolean
}

export interface Verdict {
  readonly verdict: 'accept' | 'reject'
  /**
   * Established leaves kept / established leaves; by the rules of `relay` under that policy. Absent where none of what is established is
   * protected: nothing was kept, and nothing could be lost.
   */
  readonly confidence?: number
  readonly diff: Diff
  /** At most `FINDINGS_MAX`. */
  readonly findings: Finding[]
  readonly findingsTotal: number
}

export function validateHandoff(input: HandoffInput): Verdict {
  const report = emptyReport()
  const judged = judgeEstablished(input, report)

  if (input.writes !== undefined) checkWrites(input, judged.changedKeys, report)
  checkTokens(input, report)
  if (input.schema !== undefined) checkSchema(input.schema, input.payload ?? input.after, report)
  const { evidence, policy } = input
  if (evidence !== undefined && policy.ungrounded !== 'off') {
    const check = policy.rules === RULES_NOW && policy.base !== 'relay' ? checkRecorded : checkGrounds
    check(input, { evidence, mode: policy.ungrounded }, report)
  }
  return {
    verdict: report.errors > 0 ? 'reject' : 'accept',
    ...(judged.confidence === undefined ? {} : { confidence: judged.confidence }),
    diff: report.diff,
    findings: reportedFindings(report),
    findingsTotal: report.findingsTotal,
  }
}

interface Judged {
  /** Top-level keys that differ, as far as the validator tells a difference. */
  readonly changedKeys: readonly string[]
  readonly confidence: number | undefined
}

/** The established context against the new one, by the rules that the policy names. */
function judgeEstablished(input: HandoffInput, report: Report): Judged {
  const { policy } = input
  if (policy.base === 'relay') return relayFindings(input, report)
  if (policy.rules === undefined || policy.rules === 1) {
    const changedKeys = checkEstablished(input, report)
    return { changedKeys, confidence: keptShare(input, report) }
  }
  const excuse = input.excuse ?? (input.evidence && movedByTool(input.evidence, input.after))
  const isRecorded = input.evidence && recordedGain(input.evidence)
  const { before, after, supersedes, agent } = input
  const left = input.evidence?.results.left
  const documents = { before, after, policy, supersedes, agent, excuse, isRecorded, left }
  const changedKeys = established.checkEstablished(documents, report)
  const confidence = established.keptShare(input, report)
  if (policy.invariants !== undefined) checkInvariants(policy.invariants, input, report)
  checkConfidence(confidence, policy.minConfidence, report)
  return { changedKeys, confidence }
}

/** Rule set 1. Answers the top-level keys that differ, as far as the validator tells a difference. */
function checkEstablished(input: HandoffInput, report: Report): readonly string[] {
  const { before, after, policy } = input
  const supersedes = checkSupersessions(input.supersedes ?? [], { before, after }, report)
  const changed: string[] = []
  for (const key of unionKeys(before, after)) {
    const earlier = report.differences
    if (policy.criticalKeys.includes(key)) checkCriticalKey(key, input, { supersedes, report })
    else compareOther(key, { before, after }, report)
    if (report.differences > earlier) changed.push(key)
  }
  return changed
}

function checkCriticalKey(
  key: string,
  { before, after }: HandoffInput,
  to: { readonly supersedes: Supersessions; readonly report: Report },
): void {
  if (!Object.hasOwn(before, key)) {
    addDifference(to.report, 'added', [key])
    return
  }
  const established = before[key] as Json
  if (Object.hasOwn(after, key)) {
    const now = after[key] as Json
    if (!isEqual(established, now)) compareCriticalKey(key, { before: established, after: now }, to)
    return
  }
  addDifference(to.report, 'removed', [key])
  to.report.lostLeaves += countLeaves(established)
  if (isCovered(to.supersedes, [key])) return
  addFinding(to.report, {
    rule: 'critical-key-removed',
    severity: 'error',
    path: formatPointer([key]),
    before: established,
    message: 'a critical key must not vanish; hand it on, or supersede it with a reason',
  })
}

/** RUN-35: a violation is a value that differs from the parent context's, not a key that was carried along. */
function checkWrites(input: HandoffInput, changedKeys: readonly string[], report: Report): void {
  const { before, after, writes = [] } = input
  for (const key of changedKeys) {
    if (writes.includes(key)) continue
    addFinding(report, {
      rule: 'manifest-violation',
      severity: 'error',
      path: formatPointer([key]),
      ...(Object.hasOwn(before, key) ? { before: before[key] as Json } : {}),
      ...(Object.hasOwn(after, key) ? { after: after[key] as Json } : {}),
      message: "the agent's manifest does not let it change this key",
    })
  }
}

function checkTokens({ tokens = 0, maxTokens = Number.POSITIVE_INFINITY }: HandoffInput, report: Report): void {
  if (tokens <= maxTokens) return
  addFinding(report, {
    rule: 'manifest-violation',
    severity: 'error',
    path: '',
    before: maxTokens,
    after: tokens,
    message: `the agent's manifest lets it hand over ${maxTokens} tokens, not ${tokens}: say it shorter`,
  })
}

function keptShare({ before, policy }: HandoffInput, report: Report): number {
  if (report.lostLeaves === 0) return 1
  let established = 0
  for (const key of policy.criticalKeys) {
    if (Object.hasOwn(before, key)) established += countLeaves(before[key] as Json)
  }
  return (established - report.lostLeaves) / established
}
