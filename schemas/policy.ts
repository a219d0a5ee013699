/** @module A run's policy: as a request or a policy file gives it, and with every default filled in. */
import { z } from 'zod'
import { isWithinPolicySize, Moves, MovesInForce, PLACE_POLICY, POLICY_TOO_LARGE } from './place-policy.ts'
import { withoutEffect } from './policy-effects.ts'
import { RedactionInForce, RedactionRules } from './redaction.ts'
import { NAME_MAX_CHARS, PRESET_NAMES, RULES_NOW } from './value-forms.ts'
import { SignalPolicy } from './waiting.ts'

/** A policy names at most so many critical keys, and as many protected and free ones. */
export const CRITICAL_KEYS_MAX = 64

/** A tenant's keys and a run's come together here. */
const PROSE_KEYS_MAX = 2 * CRITICAL_KEYS_MAX

/** What the rules of base relay do not know. */
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

/** Its members, each as it has to be: what comes of two policies is one, too. */
export const PolicyMembers = z
  .strictObject({
    base: Base.optional(),
    rules: Rules.optional(),
    criticalKeys: TopLevelKeys.optional(),
    protect: Protect.optional(),
    /** Free beside the keys of the default. */
    free: TopLevelKeys.optional(),
    /** Free instead of the keys of the default. */
    freeOnly: TopLevelKeys.optional(),
    /** Keys whose texts are free, instead of those of the default. */
    prose: Names.max(PROSE_KEYS_MAX).optional(),
    moves: Moves.optional(),
    /** Frameworks whose bookkeeping moves: rows of `presets.ts`, recorded among \`moves\`. */
    preset: Presets.optional(),
    /** What becomes of a signal that no wait is there for. */
    signals: SignalPolicy.optional(),
    /** What is left out of the record before anything is sealed. */
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

/** `"default"`, `"relay"`, or one of them with changes. */
export const Policy = z.union([Base, PolicyObject], 'is "default", "relay", or an object with the members of a policy')

/** As recorded. Those of base relay, and of release 0.1.0, hold the first four members, `approve`, `overshoot`, `signals` and `redaction`. */
export const ResolvedPolicy = z.strictObject({
  base: Base,
  criticalKeys: z.array(z.string()).readonly(),
  ungrounded: Ungrounded,
  /** Read where it is recorded, and without effect: no policy takes it any more. */
  snapshotEvery: z.int().min(1).max(1000).optional(),
  rules: Rules.optional(),
  protect: z.union([z.literal('*'), z.array(z.string()).readonly()]).optional(),
  free: z.array(z.string()).readonly().optional(),
  /** Keys whose texts are free, and whose data is suspect where it changes. Absent from the record of runs that began before there were such. */
  prose: z.array(z.string()).readonly().optional(),
  /** Those of the presets among them. */
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
  /** Absent from the record of runs that began before there were suspects: all that is unexplained is refused there. */
  suspect: PLACE_POLICY.suspect,
  declare: PLACE_POLICY.declare,
  evidence: PLACE_POLICY.evidence,
  enforce: PLACE_POLICY.enforce,
  approve: PLACE_POLICY.approve,
  overshoot: PLACE_POLICY.overshoot,
  signals: SignalPolicy.optional(),
  redaction: RedactionInForce.readonly().optional(),
})

export type Policy = z.infer<typeof Policy>
export type PolicyObject = z.infer<typeof PolicyObject>
export type ResolvedPolicy = z.infer<typeof ResolvedPolicy>
