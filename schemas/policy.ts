/** @module A run's policy, both as written in a request or a policy file and with every default filled in. */
import { z } from 'zod'
import { isWithinPolicySize, Moves, MovesInForce, PLACE_POLICY, POLICY_TOO_LARGE } from './place-policy.ts'
import { withoutEffect } from './policy-effects.ts'
import { RedactionInForce, RedactionRules } from './redaction.ts'
import { NAME_MAX_CHARS, PRESET_NAMES, RULES_NOW } from './value-forms.ts'
import { SignalPolicy } from './waiting.ts'

/** Maximum number of critical keys in a policy, and also of protected and of free keys. */
export const CRITICAL_KEYS_MAX = 64

/** Allows for the keys of the tenant and of the run together. */
const PROSE_KEYS_MAX = 2 * CRITICAL_KEYS_MAX

/** Members that policies of base relay do not support. */
const NOT_OF_RELAY = [
  'protect',
  'free',
  'freeOnly',
  'prose',
  'moves',
  'preset',
  'lists',
  'monotonic',
  'tolerance',
  'immutable',
  'invariants',
  'supersede',
  'minConfidence',
  'restated',
  'judge',
  'evidence',
  'suspect',
  'declare',
  'enforce',
] as const

const Base = z.enum(['default', 'relay'])
const Ungrounded = z.enum(['off', 'warn', 'reject'])
const Names = z.array(z.string().min(1).max(NAME_MAX_CHARS))
const TopLevelKeys = Names.max(CRITICAL_KEYS_MAX)
const Rules = z.literal(
  RULES_NOW,
  `is ${RULES_NOW}, the only rule set there is: leave it out, and name the keys to protect alone under protect`,
)
const Presets = z.array(z.enum(PRESET_NAMES, `is one of ${PRESET_NAMES.join(', ')}`)).max(PRESET_NAMES.length)
const Protect = z.union([z.literal('*'), TopLevelKeys])

/** The members of a policy, each validated on its own; the merge of two policies must also fit this schema. */
export const PolicyMembers = z
  .strictObject({
    base: Base.optional(),
    rules: Rules.optional(),
    criticalKeys: TopLevelKeys.optional(),
    protect: Protect.optional(),
    /** Free keys in addition to the defaults. */
    free: TopLevelKeys.optional(),
    /** Free keys instead of the defaults. */
    freeOnly: TopLevelKeys.optional(),
    /** Keys whose texts are free, instead of the defaults. */
    prose: Names.max(PROSE_KEYS_MAX).optional(),
    moves: Moves.optional(),
    /** Frameworks whose bookkeeping moves: rows of `presets.ts`, which are recorded among \`moves\`. */
    preset: Presets.optional(),
    /** Treatment of a signal that no wait expects. */
    signals: SignalPolicy.optional(),
    /** Every call is claimed before it runs, also one that changes nothing: the record then shows each try. */
    claimFirst: z.literal(true).optional(),
    /** Parts that are removed from the record before it is sealed. */
    redaction: RedactionRules.optional(),
    ...PLACE_POLICY,
  })
  .superRefine((policy, context) => {
    if (policy.base !== 'relay') return
    for (const key of NOT_OF_RELAY) {
      if (policy[key] === undefined) continue
      context.addIssue({
        code: 'custom',
        path: [key],
        message: 'is no member of a policy of base relay',
      })
    }
  })
  .refine(isWithinPolicySize, POLICY_TOO_LARGE)

export const PolicyObject = PolicyMembers.superRefine((policy, context) => {
  if (policy.base === 'relay') return
  for (const { path, message } of withoutEffect(policy)) context.addIssue({ code: 'custom', path: [...path], message })
})

/** `"default"`, `"relay"`, or an object that changes one of them. */
export const Policy = z.union([Base, PolicyObject], 'is "default", "relay", or an object with the members of a policy')

/**
 * The policy as recorded. Policies of base relay, and of release 0.1.0, have only the first four members, `approve`, `overshoot`, `signals`,
 * `claimFirst` and `redaction`.
 */
export const ResolvedPolicy = z.strictObject({
  base: Base,
  criticalKeys: z.array(z.string()).readonly(),
  ungrounded: Ungrounded,
  /** Accepted in old records, without effect; policies no longer allow it. */
  snapshotEvery: z.int().min(1).max(1000).optional(),
  rules: Rules.optional(),
  protect: z.union([z.literal('*'), z.array(z.string()).readonly()]).optional(),
  free: z.array(z.string()).readonly().optional(),
  /** Keys whose texts are free, while changes of their data are suspect. Absent in runs that began before this member existed. */
  prose: z.array(z.string()).readonly().optional(),
  /** Includes the moves of the presets. */
  moves: MovesInForce.readonly().optional(),
  lists: PLACE_POLICY.lists,
  monotonic: PLACE_POLICY.monotonic,
  tolerance: PLACE_POLICY.tolerance,
  immutable: PLACE_POLICY.immutable,
  invariants: PLACE_POLICY.invariants,
  supersede: PLACE_POLICY.supersede,
  minConfidence: PLACE_POLICY.minConfidence,
  restated: PLACE_POLICY.restated,
  judge: PLACE_POLICY.judge,
  /** Absent in runs that began before suspects existed: there every unexplained change is refused. */
  suspect: PLACE_POLICY.suspect,
  declare: PLACE_POLICY.declare,
  evidence: PLACE_POLICY.evidence,
  enforce: PLACE_POLICY.enforce,
  approve: PLACE_POLICY.approve,
  overshoot: PLACE_POLICY.overshoot,
  signals: SignalPolicy.optional(),
  claimFirst: z.literal(true).optional(),
  redaction: RedactionInForce.readonly().optional(),
})

export type Policy = z.infer<typeof Policy>
export type PolicyObject = z.infer<typeof PolicyObject>
export type ResolvedPolicy = z.infer<typeof ResolvedPolicy>
