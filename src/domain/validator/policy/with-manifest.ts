/** @module A run's policy with what an agent's manifest declares on top: a manifest adds, and never loosens. */
import type { PlacePolicy } from '../../../../schemas/place-policy.ts'
import type { ResolvedPolicy } from '../../../../schemas/policy.ts'
import { stricter } from './stricter.ts'

export function withManifestPolicy(policy: ResolvedPolicy, declared: PlacePolicy | undefined): ResolvedPolicy {
  if (declared === undefined || policy.base === 'relay' || policy.rules === undefined || policy.rules === 1)
    return policy
  const both = stricter(policy, declared)
  return { ...policy, ...both, ungrounded: both.ungrounded ?? policy.ungrounded }
}
