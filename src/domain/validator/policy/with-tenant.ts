/** @module Combines the policy that a run is started with and the operator's policy for its tenant: a run adds rules and never loosens any. */

import { type Policy, PolicyMembers, type PolicyObject, type ResolvedPolicy } from '../../../../schemas/policy.ts'
import { ungoverned } from '../../../../schemas/policy-effects.ts'
import { freeKeysOf, resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { APPROVAL_RULES_MAX } from '../../../../schemas/value-forms.ts'
import { joinedRules } from '../../redaction/joined-rules.ts'
import { type Refusal, refusal } from '../../refusal.ts'
import { stricter } from './stricter.ts'

type Started =
  | { readonly ok: true; readonly policy: ResolvedPolicy }
  | { readonly ok: false; readonly refusal: Refusal }

/** The run's policy with the additions of its tenant's policy; a refusal if the two contradict each other. */
export function underTenantPolicy(declared: Policy | undefined, tenant: PolicyObject): Started {
  const run = typeof declared === 'string' ? { base: declared } : (declared ?? {})
  if (tenant.base !== undefined && run.base !== undefined && tenant.base !== run.base)
    return refused('/policy/base', `the policy of this tenant has base ${tenant.base}, which no run changes`)
  const both = merged(run, tenant)
  const checked = PolicyMembers.safeParse(both)
  const fault = checked.success ? ungoverned(both)[0] : checked.error.issues[0]
  if (checked.success && fault === undefined) return { ok: true, policy: resolvePolicy(checked.data) }
  const { path, message } = fault ?? { path: [], message: '' }
  const pointer = ['/policy', ...path.slice(0, 1).map(String)].join('/')
  return refused(pointer, `together with the policy of this tenant: ${[...path.map(String), message].join(' ')}`)
}

/** Adds the approval rules of the run that this one comes from, so that they apply in this run, too. */
export function withApprovals(
  declared: Policy | undefined,
  approve: NonNullable<PolicyObject['approve']>,
): { readonly ok: true; readonly policy: PolicyObject } | Extract<Started, { ok: false }> {
  const run = typeof declared === 'string' ? { base: declared } : (declared ?? {})
  const policy = { ...run, ...approvalsOf(run, approve) }
  if ((policy.approve ?? []).length <= APPROVAL_RULES_MAX) return { ok: true, policy }
  return refused(
    '/policy/approve',
    `together with those of the run that it comes from, a run has at most ${APPROVAL_RULES_MAX} rules on approvals`,
  )
}

function approvalsOf(run: PolicyObject, approve: PolicyObject['approve']): Pick<PolicyObject, 'approve'> {
  const { approve: both } = stricter({ approve: run.approve }, { approve })
  return both === undefined ? {} : { approve: both }
}

function refused(pointer: string, reason: string): Extract<Started, { ok: false }> {
  const errors = [{ pointer, message: reason }]
  return { ok: false, refusal: refusal('policy-invalid', reason, { pointer, evidence: { errors } }) }
}

function merged(run: PolicyObject, tenant: PolicyObject): PolicyObject {
  const more = {
    base: run.base ?? tenant.base,
    rules: run.rules ?? tenant.rules,
    signals: run.signals === 'refuse' ? run.signals : (tenant.signals ?? run.signals),
    claimFirst: run.claimFirst ?? tenant.claimFirst,
    criticalKeys: union(run.criticalKeys, tenant.criticalKeys),
    protect: protectedByBoth(run.protect, tenant.protect),
    ...freeOf(run, tenant),
    ...movesOf(run, tenant),
    redaction: joinedOrNone(run.redaction, tenant.redaction),
  }
  const named = Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined))
  return { ...named, ...stricter(run, tenant) }
}

/** Declaring a place as moving loosens the policy, so if the tenant's policy has such declarations, only those apply. */
function movesOf(run: PolicyObject, tenant: PolicyObject): Pick<PolicyObject, 'moves' | 'preset'> {
  const { moves, preset } = tenant.moves === undefined && tenant.preset === undefined ? run : tenant
  return { moves, preset }
}

/** If both policies declare free keys, each key is as free as the stricter one allows; if only one declares them, its declaration applies. */
function freeOf(run: PolicyObject, tenant: PolicyObject): Pick<PolicyObject, 'free' | 'freeOnly' | 'prose'> {
  const [ours, theirs] = [run, tenant].filter(speaksOfFree).map(freeKeysOf)
  if (ours === undefined) return {}
  const { free, prose } = ours
  if (theirs === undefined) return { free: [...free], prose: [...prose], freeOnly: undefined }
  const both = free.filter((key) => theirs.free.includes(key))
  const loose = [...theirs.free, ...theirs.prose]
  const texts = [...free, ...prose].filter((key) => loose.includes(key) && !both.includes(key))
  return { free: both, prose: [...new Set(texts)], freeOnly: undefined }
}

function speaksOfFree({ free, freeOnly, prose }: PolicyObject): boolean {
  return [free, freeOnly, prose].some((keys) => keys !== undefined)
}

function joinedOrNone(run: PolicyObject['redaction'], tenant: PolicyObject['redaction']): PolicyObject['redaction'] {
  return run === undefined && tenant === undefined ? undefined : [...joinedRules(run, tenant)]
}

type Keys = readonly string[] | undefined

function union(a: Keys, b: Keys): string[] | undefined {
  return a === undefined && b === undefined ? undefined : [...new Set([...(a ?? []), ...(b ?? [])])]
}

function protectedByBoth(a: PolicyObject['protect'], b: PolicyObject['protect']): PolicyObject['protect'] {
  return a === '*' || b === '*' ? '*' : union(a, b)
}
