/** @module A run's policy with what an agent's manifest declares on top: a manifest adds, and never loosens. */
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

/** Read once: what is known of a policy is kept by the object that it is. */
const read = new WeakMap<ResolvedPolicy, ResolvedPolicy>()

/**
 * A recorded policy as handoffs are judged by it now (JUD-82). One without a rule set is of release 0.1.0: it protected its critical keys and nothing else, and
 * knew no suspects. It stays so in the record, and for the fold of what was accepted by it.
 */
export function readPolicy(policy: ResolvedPolicy): ResolvedPolicy {
  if (policy.base === 'relay' || policy.rules === RULES_NOW) return policy
  const known = read.get(policy)
  if (known !== undefined) return known
  const made: ResolvedPolicy = { ...policy, rules: RULES_NOW, protect: policy.criticalKeys, free: [], prose: [] }
  read.set(policy, made)
  return made
}

/** Whether a handoff is refused whose tokens would pass a limit (RUN-80). Of the manifest also under `relay`. */
export function refusesOvershoot({ policy }: Pick<RunState, 'policy'>, manifest: ManifestState | undefined): boolean {
  return [policy, manifest?.manifest.policy].some((each) => each?.overshoot === 'refuse')
}
