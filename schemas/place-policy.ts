/** @module Declarations of a policy about places of a context, each named by a JSON Pointer in which `*` matches any key or list member. */
import { z } from 'zod'
import { ApprovalRule } from './approval.ts'
import { parseExpression } from './expression.ts'
import {
  APPROVAL_RULES_MAX,
  DECLARATIONS_MAX,
  HANDOFF_TEXT_MAX_CHARS,
  INVARIANTS_MAX,
  LIST_KEYS_MAX,
  MOVE_KINDS,
  NAME_MAX_CHARS,
  PLACE_MAX_CHARS,
  PLACE_MAX_DEPTH,
  PLACE_PATTERN,
  PLACES_MAX,
  POLICY_MAX_CHARS,
  SUPERSEDE_REASON_MAX_CHARS,
  SUPERSEDE_ROLES_MAX,
  TRUSTED_TOOLS_MAX,
} from './value-forms.ts'

const Pointer = z
  .string()
  .max(PLACE_MAX_CHARS)
  .regex(PLACE_PATTERN, 'is no JSON Pointer (RFC 6901) below the whole context: it begins with "/"')
  .refine(
    (pointer) => pointer.split('/').length - 1 <= PLACE_MAX_DEPTH,
    `a pointer leads at most ${PLACE_MAX_DEPTH} deep`,
  )

const Key = z.string().min(1).max(NAME_MAX_CHARS)
/** The kind of a list, or the members that identify its objects. */
const ListRule = z.union(
  [z.enum(['sequence', 'set', 'bag']), z.strictObject({ key: z.array(Key).min(1).max(LIST_KEYS_MAX) })],
  'is "sequence", "set", "bag", or {"key": [names of members]}',
)
const Bound = z.number().min(0)
const Tolerance = z
  .strictObject({ absolute: Bound.optional(), relative: Bound.optional() })
  .refine((tolerance) => Object.keys(tolerance).length > 0, 'absolute or relative is required')

const Invariant = z.strictObject({
  name: z.string().min(1).max(NAME_MAX_CHARS),
  expression: z
    .string()
    .min(1)
    .superRefine((text, context) => {
      const parsed = parseExpression(text)
      if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.message })
    }),
})

const STATES_MAX = 32
const REASON_MAX_CHARS = 1024

const Move = z
  .strictObject({
    path: Pointer,
    as: z.enum(MOVE_KINDS, `is one of ${MOVE_KINDS.join(', ')}`),
    /** For `state`: its words, in order. */
    order: z.array(Key).min(2).max(STATES_MAX).optional(),
    /** For `gauge`: the place that has to change with it. For `derived`: the name of the invariant that keeps it true. */
    by: z.string().min(1).max(PLACE_MAX_CHARS).optional(),
    reason: z.string().max(REASON_MAX_CHARS).optional(),
  })
  .superRefine(checkTogether)

/** Checks the members of a declaration against each other. */
function checkTogether({ as, order, by }: MoveMembers, context: z.RefinementCtx): void {
  const issue = (path: string, message: string): void => context.addIssue({ code: 'custom', path: [path], message })
  if ((as === 'state') !== (order !== undefined))
    issue('order', 'a state has the order of its words, as order: [first, ..., last], and nothing else has one')
  if (as === 'derived' && by === undefined)
    issue('by', 'a derived place names the invariant of the policy that keeps it true, as by: "its name"')
  if (as === 'gauge' && by !== undefined && !Pointer.safeParse(by).success)
    issue('by', 'of a gauge, by is the JSON Pointer of the place that has to change with it')
  if (by !== undefined && as !== 'gauge' && as !== 'derived') issue('by', 'only a gauge and a derived place have by')
}

interface MoveMembers {
  readonly as: (typeof MOVE_KINDS)[number]
  readonly order?: readonly string[] | undefined
  readonly by?: string | undefined
}

/** Moving places, as a policy declares them. */
export const Moves = z.array(Move).max(PLACES_MAX)

/** Limit as recorded; it includes the moves of the presets that a policy names. */
const MOVES_IN_FORCE_MAX = 1024
export const MovesInForce = z.array(Move).max(MOVES_IN_FORCE_MAX)

/**
 * A moving place, as an agent declares it with a handoff, including the reason. A faulty declaration is a finding, as a faulty entry of
 * `supersedes` is, because the agent can correct it.
 */
export const Declaration = z.strictObject({
  path: z.string().max(HANDOFF_TEXT_MAX_CHARS),
  as: z.string().max(64),
  by: z.string().max(HANDOFF_TEXT_MAX_CHARS).optional(),
  reason: z.string().max(HANDOFF_TEXT_MAX_CHARS),
})

export const Declarations = z.array(Declaration).max(DECLARATIONS_MAX)

const SupersedeRights = z.strictObject({
  /** Agents that may supersede. Absent: all agents. */
  roles: z.array(Key).max(SUPERSEDE_ROLES_MAX).optional(),
  reasonMinChars: z.int().min(1).max(SUPERSEDE_REASON_MAX_CHARS).optional(),
  /** Places whose change no entry permits. */
  never: z.array(Pointer).max(PLACES_MAX).optional(),
})

const Suspect = z.enum(['record', 'hold', 'refuse'])

/** `untrusted`: the tool's answers may ground new values but move no established ones. `moves`: they may move only these places and those below. */
const ToolTrust = z.union(
  [
    z.strictObject({ tool: Key, untrusted: z.literal(true) }),
    z.strictObject({ tool: Key, moves: z.array(Pointer).max(PLACES_MAX) }),
  ],
  'is {"tool": name, "untrusted": true}, or {"tool": name, "moves": [places]}',
)
export type ToolTrust = z.infer<typeof ToolTrust>

function atMost(places: object): boolean {
  return Object.keys(places).length <= PLACES_MAX
}
const TOO_MANY = `at most ${PLACES_MAX} places`

/** Members that a run, an agent's manifest and a tenant may all declare. */
export const PLACE_POLICY = {
  lists: z.record(Pointer, ListRule).refine(atMost, TOO_MANY).optional(),
  monotonic: z
    .record(Pointer, z.enum(['up', 'down']))
    .refine(atMost, TOO_MANY)
    .optional(),
  tolerance: z.record(Pointer, Tolerance).refine(atMost, TOO_MANY).optional(),
  /** Places that must not change, not even by superseding. */
  immutable: z.array(Pointer).max(PLACES_MAX).optional(),
  invariants: z.array(Invariant).max(INVARIANTS_MAX).optional(),
  supersede: SupersedeRights.optional(),
  /** A handoff that keeps a smaller share of the established values is refused, superseded or not. */
  minConfidence: z.number().min(0).max(1).optional(),
  /** The same fact under two names with different values: `sure` refuses if both clearly concern the same thing, and warns otherwise. */
  restated: z.enum(['off', 'warn', 'sure', 'reject']).optional(),
  ungrounded: z.enum(['off', 'warn', 'reject']).optional(),
  /** Effect of a judge's verdict on a handoff on the next one; the verdict is recorded in any case. */
  judge: z.enum(['warn', 'reject']).optional(),
  /** A handoff whose tokens would exceed a limit of the budget is recorded as overshoot (the default) or refused. */
  overshoot: z.enum(['record', 'refuse']).optional(),
  /** Trust in tools: whose answers may move established values. */
  evidence: z.array(ToolTrust).max(TRUSTED_TOOLS_MAX).optional(),
  /**
   * Treatment of a suspect change: accepted with a warning (the default); accepted, but calls with effects wait for a person; or refused
   * like a certain fault.
   */
  suspect: Suspect.optional(),
  /** Whether agents may declare moving places with their handoffs: `reasoned` (the default) or `none`. */
  declare: z.enum(['reasoned', 'none']).optional(),
  /** `record`: nothing is refused, and each finding that would refuse is marked. */
  enforce: z.enum(['record', 'refuse']).optional(),
  /** Calls that need an approval before they run. */
  approve: z.array(ApprovalRule).max(APPROVAL_RULES_MAX).optional(),
}

export function isWithinPolicySize(policy: object): boolean {
  return JSON.stringify(policy).length <= POLICY_MAX_CHARS
}
export const POLICY_TOO_LARGE = `a policy has at most ${POLICY_MAX_CHARS} characters`

export const PlacePolicy = z.strictObject(PLACE_POLICY).refine(isWithinPolicySize, POLICY_TOO_LARGE)

export type Move = z.infer<typeof Move>
export type Declaration = z.infer<typeof Declaration>
export type ListRule = z.infer<typeof ListRule>
export type PlacePolicy = z.infer<typeof PlacePolicy>
