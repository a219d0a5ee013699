/** @module A run's policy: as a request or a policy file gives it, and with every default filled in. */
import { z } from 'zod'
import { NAME_MAX_CHARS } from './names.ts'
import { PLACE_POLICY, type PlacePolicy } from './place-policy.ts'

/** Top-level keys of the context that must not vanish, whatever they hold; under rule set 1, all that is protected. */
export const DEFAULT_CRITICAL_KEYS: readonly string[] = ['entities', 'actions', 'facts', 'constraints', 'requirements']
/** Top-level keys of work in progress: free to change under rule set 2. Case, `_` and `-` do not matter. */
export const DEFAULT_FREE_KEYS: readonly string[] = (
  'summary notes note draft drafts outline plan next_step next_steps message messages analysis recommendation recommendations progress scratch ' +
  'scratchpad thoughts thinking reasoning comment comments memo log todo todos checklist runbook agenda open_questions answer reply response text output content'
).split(' ')
/** A policy names at most so many critical keys, and as many protected and free ones. */
export const CRITICAL_KEYS_MAX = 64
export const SNAPSHOT_EVERY_MAX = 1000
/** The rule set of runs that start now. A run keeps the one it began with. */
export const RULES_NOW = 2
/** JSON text of a policy. */
export const POLICY_MAX_CHARS = 32 * 1024

const RULES_2_MEMBERS = [
  'protect',
  'free',
  'lists',
  'monotonic',
  'tolerance',
  'immutable',
  'invariants',
  'supersede',
  'minConfidence',
  'restated',
] as const

const Base = z.enum(['default', 'relay'])
const Ungrounded = z.enum(['off', 'warn', 'reject'])
const TopLevelKeys = z.array(z.string().min(1).max(NAME_MAX_CHARS)).max(CRITICAL_KEYS_MAX)
const SnapshotEvery = z.int().min(1).max(SNAPSHOT_EVERY_MAX)
const Rules = z.union([z.literal(1), z.literal(RULES_NOW)])
const Protect = z.union([z.literal('*'), TopLevelKeys])

export const PolicyObject = z
  .strictObject({
    base: Base.optional(),
    rules: Rules.optional(),
    criticalKeys: TopLevelKeys.optional(),
    protect: Protect.optional(),
    free: TopLevelKeys.optional(),
    snapshotEvery: SnapshotEvery.optional(),
    ...PLACE_POLICY,
  })
  .superRefine((policy, context) => {
    if (policy.base !== 'relay' && policy.rules !== 1) return
    for (const key of RULES_2_MEMBERS) {
      if (policy[key] === undefined) continue
      context.addIssue({
        code: 'custom',
        path: [key],
        message: 'is a member of rule set 2, which base relay and rules 1 do not know',
      })
    }
  })
  .refine(
    (policy) => JSON.stringify(policy).length <= POLICY_MAX_CHARS,
    `a policy has at most ${POLICY_MAX_CHARS} characters`,
  )

/** `"default"`, `"relay"`, or one of them with changes. */
export const Policy = z.union([Base, PolicyObject])

/** As recorded. Runs of rule set 1 hold the first four members alone. */
export const ResolvedPolicy = z.strictObject({
  base: Base,
  criticalKeys: z.array(z.string()).readonly(),
  ungrounded: Ungrounded,
  snapshotEvery: SnapshotEvery,
  rules: Rules.optional(),
  protect: z.union([z.literal('*'), z.array(z.string()).readonly()]).optional(),
  free: z.array(z.string()).readonly().optional(),
  lists: PLACE_POLICY.lists,
  monotonic: PLACE_POLICY.monotonic,
  tolerance: PLACE_POLICY.tolerance,
  immutable: PLACE_POLICY.immutable,
  invariants: PLACE_POLICY.invariants,
  supersede: PLACE_POLICY.supersede,
  minConfidence: PLACE_POLICY.minConfidence,
  restated: PLACE_POLICY.restated,
})

export type Policy = z.infer<typeof Policy>
export type PolicyObject = z.infer<typeof PolicyObject>
export type ResolvedPolicy = z.infer<typeof ResolvedPolicy>

/** Fills in the defaults. `relay` leaves `ungrounded` off, since the library it follows knows no such rule. */
export function resolvePolicy(input: Policy = 'default'): ResolvedPolicy {
  const given: PolicyObject = typeof input === 'string' ? { base: input } : input
  const base = given.base ?? 'default'
  const first = {
    base,
    criticalKeys: [...new Set(given.criticalKeys ?? DEFAULT_CRITICAL_KEYS)],
    ungrounded: given.ungrounded ?? (base === 'relay' ? 'off' : 'warn'),
    snapshotEvery: given.snapshotEvery ?? 1,
  }
  if (base === 'relay' || given.rules === 1) return first
  return {
    ...first,
    rules: RULES_NOW,
    protect: given.protect ?? '*',
    free: [...new Set(given.free ?? DEFAULT_FREE_KEYS)],
    restated: given.restated ?? 'sure',
    ...declaredPlaces(given),
  }
}

function declaredPlaces(given: PolicyObject): Omit<PlacePolicy, 'ungrounded' | 'restated'> {
  const { lists, monotonic, tolerance, immutable, invariants, supersede, minConfidence } = given
  return {
    ...(lists === undefined ? {} : { lists }),
    ...(monotonic === undefined ? {} : { monotonic }),
    ...(tolerance === undefined ? {} : { tolerance }),
    ...(immutable === undefined ? {} : { immutable }),
    ...(invariants === undefined ? {} : { invariants }),
    ...(supersede === undefined ? {} : { supersede }),
    ...(minConfidence === undefined ? {} : { minConfidence }),
  }
}
