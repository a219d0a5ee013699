/**
 * @module What an unexplained change of something established comes to: it is certain where something says that the place stays, and suspect elsewhere; and what
 * a policy makes of either. Pure.
 */
import { FINDINGS_MAX, type Finding } from '../../../schemas/finding.ts'
import type { ResolvedPolicy } from '../../../schemas/policy.ts'
import type { Change } from './established/changes.ts'
import type { Usual } from './explained/weak.ts'
import { type Trunk, topKey } from './trunk.ts'

/** `usual`: weakly explained, with nothing that speaks against it. */
export type Outcome = 'certain' | 'suspect' | 'usual'

export type OutcomeOf = (change: Change) => Outcome

export interface Signs {
  /** Whether a tool answered the old value of this place, and no tool the new one. */
  readonly isEvident: (change: Change) => boolean
  /** Whether, and how, it is usual of an agent's own books. */
  readonly usual: (change: Change) => Usual | undefined
}

export function outcomesBy(
  { policy, trunk }: { readonly policy: ResolvedPolicy; readonly trunk: Trunk },
  { isEvident, usual }: Signs,
): OutcomeOf {
  // As runs were judged that began before there were suspects.
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

/** Whether the policy says something of the place. */
export function isDeclared({ rules, kind }: Change): boolean {
  // What is declared to move breaks its kind by another value; a log by any loss.
  if (rules.move !== undefined && (kind === 'changed' || rules.move.as === 'log')) return true
  return (
    rules.immutable || rules.never || [rules.monotonic, rules.tolerance, rules.list].some((each) => each !== undefined)
  )
}

/** Of a suspect: what it is called by the policy. */
export function asSuspect(finding: Finding, { suspect }: Pick<ResolvedPolicy, 'suspect'>): Finding {
  return { ...finding, severity: suspect === 'refuse' ? 'error' : 'warning', suspect: true }
}

interface Judged {
  readonly verdict: 'accept' | 'reject'
  readonly findings: readonly Finding[]
}

/** Under `enforce: "record"` nothing is refused, and each finding that would refuse says so. */
export function enforced<T extends Judged>(verdict: T, { enforce }: Pick<ResolvedPolicy, 'enforce'>): T {
  if (enforce !== 'record' || verdict.verdict === 'accept') return verdict
  const findings = verdict.findings.map((finding) =>
    finding.severity === 'error' ? { ...finding, severity: 'warning' as const, wouldRefuse: true as const } : finding,
  )
  return { ...verdict, verdict: 'accept', findings: findings.slice(0, FINDINGS_MAX) }
}
