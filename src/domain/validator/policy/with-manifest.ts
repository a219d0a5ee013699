/** @module A run's policy with what an agent's manifest declares on top: a manifest adds, and never loosens. */
import type { PlacePolicy } from '../../../../schemas/place-policy.ts'
import type { ResolvedPolicy } from '../../../../schemas/policy.ts'

const UNGROUNDED = ['off', 'warn', 'reject'] as const
const RESTATED = ['off', 'warn', 'sure', 'reject'] as const

export function withManifestPolicy(policy: ResolvedPolicy, declared: PlacePolicy | undefined): ResolvedPolicy {
  if (declared === undefined || policy.base === 'relay' || policy.rules === undefined || policy.rules === 1)
    return policy
  const supersede = bothSupersede(policy.supersede, declared.supersede)
  return {
    ...policy,
    ungrounded: stricter(UNGROUNDED, policy.ungrounded, declared.ungrounded),
    restated: stricter(RESTATED, policy.restated ?? 'sure', declared.restated),
    lists: { ...declared.lists, ...policy.lists },
    monotonic: { ...declared.monotonic, ...policy.monotonic },
    tolerance: { ...declared.tolerance, ...policy.tolerance },
    immutable: [...(policy.immutable ?? []), ...(declared.immutable ?? [])],
    invariants: [...(policy.invariants ?? []), ...(declared.invariants ?? [])],
    minConfidence: Math.max(policy.minConfidence ?? 0, declared.minConfidence ?? 0),
    ...(supersede === undefined ? {} : { supersede }),
  }
}

function stricter<T extends string>(order: readonly T[], ours: T, theirs: T | undefined): T {
  return theirs !== undefined && order.indexOf(theirs) > order.indexOf(ours) ? theirs : ours
}

type Rights = PlacePolicy['supersede']

function bothSupersede(ours: Rights, theirs: Rights): Rights {
  if (ours === undefined || theirs === undefined) return ours ?? theirs
  const roles =
    ours.roles === undefined ? theirs.roles : ours.roles.filter((role) => theirs.roles?.includes(role) ?? true)
  return {
    ...(roles === undefined ? {} : { roles }),
    reasonMinChars: Math.max(ours.reasonMinChars ?? 1, theirs.reasonMinChars ?? 1),
    never: [...(ours.never ?? []), ...(theirs.never ?? [])],
  }
}
