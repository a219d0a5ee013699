/** @module A run's policy with what an agent's manifest declares on top: a manifest adds, and never loosens. */
import type { ManifestState, RunState } from '../../../../projections/run-state.ts'
import type { PlacePolicy } from '../../../../schemas/place-policy.ts'
import type { ResolvedPolicy } from '../../../../schemas/policy.ts'
import { stricter } from './stricter.ts'

export function withManifestPolicy(policy: ResolvedPolicy, declared: PlacePolicy | undefined): ResolvedPolicy {
  if (declared === undefined || policy.base === 'relay' || policy.rules === undefined || policy.rules === 1)
    return policy
  const both = stricter(policy, declared)
  return { ...policy, ...both, ungrounded: both.ungrounded ?? policy.ungrounded }
}

/** Whether a handoff is refused whose tokens would pass a limit (RUN-80). Of the manifest also in runs of rule set 1. */
export function refusesOvershoot({ policy }: Pick<RunState, 'policy'>, manifest: ManifestState | undefined): boolean {
  return [policy, manifest?.manifest.policy].some((each) => each?.overshoot === 'refuse')
}
