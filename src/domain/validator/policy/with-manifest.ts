/** @module Adds the declarations of an agent's manifest to a run's policy: a manifest adds rules and never loosens any. */
import type { ManifestState, RunState } from '../../../../projections/run-state.ts'
import type { PlacePolicy } from '../../../../schemas/place-policy.ts'
import type { ResolvedPolicy } from '../../../../schemas/policy.ts'
import { RULES_NOW } from '../../../../schemas/value-forms.ts'
import { stricter } from './stricter.ts'

export function withManifestPolicy(policy: ResolvedPolicy, declared: PlacePolicy | undefined): ResolvedPolicy {
  const own = readPolicy(policy)
  if (declared === undefined || own.base === 'relay') return own
  const both = stricter(own, declared)
  return { ...own, ...both, ungrounded: both.ungrounded ?? own.ungrounded }
}

/** Cache, because derived data of a policy is keyed by the object. */
const read = new WeakMap<ResolvedPolicy, ResolvedPolicy>()

/**
 * A recorded policy, converted to the current judgement of handoffs (JUD-82). A policy without a rule set is from release 0.1.0: it
 * protected only its critical keys and had no suspects. The record, and the fold of what it accepted, keep the original policy.
 */
export function readPolicy(policy: ResolvedPolicy): ResolvedPolicy {
  if (policy.base === 'relay' || policy.rules === RULES_NOW) return policy
  const known = read.get(policy)
  if (known !== undefined) return known
  const made: ResolvedPolicy = { ...policy, rules: RULES_NOW, protect: policy.criticalKeys, free: [], prose: [] }
  read.set(policy, made)
  return made
}

/** Whether handoffs whose tokens would exceed a limit are refused (RUN-80). A manifest may require this even under `relay`. */
export function refusesOvershoot({ policy }: Pick<RunState, 'policy'>, manifest: ManifestState | undefined): boolean {
  return [policy, manifest?.manifest.policy].some((each) => each?.overshoot === 'refuse')
}
