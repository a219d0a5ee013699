/** @module The validator: judges a handoff against what is established (JUD-1 to JUD-29). Pure. */
import { isEqual } from '../../../projections/json-equality.ts'
import { unionKeys } from '../../../projections/set-text.ts'
import type { Diff, Finding } from '../../../schemas/finding.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { ResolvedPolicy } from '../../../schemas/policy.ts'
import { checkSchema } from './check-schema.ts'
import { compareCriticalKey } from './compare.ts'
import { compareOther } from './compare-other.ts'
import type { Evidence } from './evidence.ts'
import { formatPointer } from './pointer.ts'
import { relayFindings } from './relay.ts'
import { addDifference, addFinding, countLeaves, emptyReport, type Report } from './report.ts'
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
  /** The run's first handoff: policy `relay` does not judge it. */
  readonly first?: boolean
}

export interface Verdict {
  readonly verdict: 'accept' | 'reject'
  /** Established leaves kept / established leaves; by the rules of `relay` under that policy. */
  readonly confidence: number
  readonly diff: Diff
  /** At most `FINDINGS_MAX`. */
  readonly findings: Finding[]
  readonly findingsTotal: number
}

export function validateHandoff(input: HandoffInput): Verdict {
  const report = emptyReport()
  const relay = input.policy.base === 'relay' ? relayFindings(input, report) : undefined
  const changedKeys = relay === undefined ? checkEstablished(input, report) : relay.changedKeys

  if (input.writes !== undefined) checkWrites(input, changedKeys, report)
  checkTokens(input, report)
  if (input.schema !== undefined) checkSchema(input.schema, input.payload ?? input.after, report)
  if (input.evidence !== undefined && input.policy.ungrounded !== 'off') {
    checkGrounds(input, { evidence: input.evidence, mode: input.policy.ungrounded }, report)
  }
  return {
    verdict: report.errors > 0 ? 'reject' : 'accept',
    confidence: relay?.confidence ?? keptShare(input, report),
    diff: report.diff,
    findings: report.findings,
    findingsTotal: report.findingsTotal,
  }
}

/** The default policy. Answers the top-level keys that differ, as far as the validator tells a difference. */
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
