/**
 * @module Classifies an unexplained change of an established value: certain if something says that the place stays as it is, suspect
 * otherwise; and applies the policy to either. Pure.
 */
import { FINDINGS_MAX, type Finding } from '../../../schemas/finding.ts'
import type { ResolvedPolicy } from '../../../schemas/policy.ts'
import type { Change } from './established/changes.ts'
import type { Usual } from './explained/weak.ts'
import { type Trunk, topKey } from './trunk.ts'

/** `usual`: weakly explained, and nothing contradicts the change. */
export type Outcome = 'certain' | 'suspect' | 'usual'

export type OutcomeOf = (change: Change) => Outcome

export interface Signs {
  /** Whether a tool answered the old value of this place, and no tool the new one. */
  readonly isEvident: (change: Change) => boolean
  /** Whether, and how plainly, the change is usual for an agent's own bookkeeping. */
  readonly usual: (change: Change) => Usual | undefined
}

export function outcomesBy(
  { policy, trunk }: { readonly policy: ResolvedPolicy; readonly trunk: Trunk },
  { isEvident, usual }: Signs,
): OutcomeOf {
  // Runs that started before suspects existed are judged as they were then.
  if (policy.suspect === undefined) return () => 'certain'
  const named = new Set([...policy.criticalKeys, ...(Array.isArray(policy.protect) ? policy.protect : [])])
  return (change) => {
    if (isDeclared(change)) return 'certain'
    if (change.isProse === true) return usual(change) === 'plainly' ? 'usual' : 'suspect'
    if (change.kind === 'duplicate' || change.kind === 'shadow') return 'certain'
    const isGuarded = named.has(topKey(change.place, trunk)) || isEvident(change)
    const how = usual(change)
    if (how === 'plainly' && !isGuarded) return 'usual'
    return isGuarded && how === undefined ? 'certain' : 'suspect'
  }
}

/** Whether the policy declares something about the place. */
export function isDeclared({ rules, kind }: Change): boolean {
  // A place that is declared to move is violated by a value outside its kind, and a log by any loss.
  if (rules.move !== undefined && (kind === 'changed' || rules.move.as === 'log')) return true
  return (
    rules.immutable || rules.never || [rules.monotonic, rules.tolerance, rules.list].some((each) => each !== undefined)
  )
}

/** The finding of a suspect, with the severity that the policy gives to suspects. */
export function asSuspect(finding: Finding, { suspect }: Pick<ResolvedPolicy, 'suspect'>): Finding {
  return { ...finding, severity: suspect === 'refuse' ? 'error' : 'warning', suspect: true }
}

interface Judged {
  readonly verdict: 'accept' | 'reject'
  readonly findings: readonly Finding[]
}

/** Under `enforce: "record"` nothing is refused; findings that would refuse are marked instead. */
export function enforced<T extends Judged>(verdict: T, { enforce }: Pick<ResolvedPolicy, 'enforce'>): T {
  if (enforce !== 'record' || verdict.verdict === 'accept') return verdict
  const findings = verdict.findings.map((finding) =>
    finding.severity === 'error' ? { ...finding, severity: 'warning' as const, wouldRefuse: true as const } : finding,
  )
  return { ...verdict, verdict: 'accept', findings: findings.slice(0, FINDINGS_MAX) }
}
