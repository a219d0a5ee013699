/** @module What a policy declares about places of a context, each named by a JSON Pointer in which `*` is any key or list member. */
import { z } from 'zod'
import { APPROVAL_RULES_MAX, ApprovalRule } from './approval.ts'
import { parseExpression } from './expression.ts'
import { DECLARATIONS_MAX, HANDOFF_TEXT_MAX_CHARS, MOVE_KINDS, NAME_MAX_CHARS } from './value-forms.ts'

/** JSON text of a policy. */
export const POLICY_MAX_CHARS = 32 * 1024
export const PLACES_MAX = 256
export const INVARIANTS_MAX = 32
const POINTER_MAX_CHARS = 512
const POINTER_MAX_DEPTH = 32
const KEYS_MAX = 64

const Pointer = z
  .string()
  .max(POINTER_MAX_CHARS)
  .regex(/^(?:\/(?:[^~/]|~[01])*)+$/, 'is no JSON Pointer (RFC 6901) below the whole context: it begins with "/"')
  .refine(
    (pointer) => pointer.split('/').length - 1 <= POINTER_MAX_DEPTH,
    `a pointer leads at most ${POINTER_MAX_DEPTH} deep`,
  )

const Key = z.string().min(1).max(NAME_MAX_CHARS)
/** Members that tell the objects of a list apart; or what the list is. */
const ListRule = z.union(
  [z.enum(['sequence', 'set', 'bag']), z.strictObject({ key: z.array(Key).min(1).max(4) })],
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
    /** The words of a `state`, the first one first. */
    order: z.array(Key).min(2).max(STATES_MAX).optional(),
    /** Of a `gauge`, the place that has to change with it; of a `derived` one, the name of the invariant that keeps it true. */
    by: z.string().min(1).max(POINTER_MAX_CHARS).optional(),
    reason: z.string().max(REASON_MAX_CHARS).optional(),
  })
  .superRefine(checkTogether)

/** What the members of a declaration say together. */
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

/** Places that move, as a policy declares them. */
export const Moves = z.array(Move).max(PLACES_MAX)

/** As recorded: those of the presets that a policy names are among them. */
const MOVES_IN_FORCE_MAX = 1024
export const MovesInForce = z.array(Move).max(MOVES_IN_FORCE_MAX)

/**
 * A place that moves, as an agent declares it beside a handoff: with the reason for it. What is wrong with one is a finding, as it is with an entry for
 * `supersedes`: an agent can mend it.
 */
export const Declaration = z.strictObject({
  path: z.string().max(HANDOFF_TEXT_MAX_CHARS),
  as: z.string().max(64),
  by: z.string().max(HANDOFF_TEXT_MAX_CHARS).optional(),
  reason: z.string().max(HANDOFF_TEXT_MAX_CHARS),
})

export const Declarations = z.array(Declaration).max(DECLARATIONS_MAX)

const SupersedeRights = z.strictObject({
  /** Agents that may supersede; without it all may. */
  roles: z.array(Key).max(KEYS_MAX).optional(),
  reasonMinChars: z.int().min(1).max(1024).optional(),
  /** Places whose change no entry permits. */
  never: z.array(Pointer).max(PLACES_MAX).optional(),
})

const Suspect = z.enum(['record', 'hold', 'refuse'])

/** `untrusted`: its answers ground what is new, and move nothing. `moves`: they move these places, with what lies below, and no others. */
const ToolTrust = z.union(
  [
    z.strictObject({ tool: Key, untrusted: z.literal(true) }),
    z.strictObject({ tool: Key, moves: z.array(Pointer).max(PLACES_MAX) }),
  ],
  'is {"tool": name, "untrusted": true}, or {"tool": name, "moves": [places]}',
)
export type ToolTrust = z.infer<typeof ToolTrust>
const TOOLS_MAX = 256

function atMost(places: object): boolean {
  return Object.keys(places).length <= PLACES_MAX
}
const TOO_MANY = `at most ${PLACES_MAX} places`

/** What a run, an agent's manifest and a tenant may declare alike. */
export const PLACE_POLICY = {
  lists: z.record(Pointer, ListRule).refine(atMost, TOO_MANY).optional(),
  monotonic: z
    .record(Pointer, z.enum(['up', 'down']))
    .refine(atMost, TOO_MANY)
    .optional(),
  tolerance: z.record(Pointer, Tolerance).refine(atMost, TOO_MANY).optional(),
  /** Not even superseded. */
  immutable: z.array(Pointer).max(PLACES_MAX).optional(),
  invariants: z.array(Invariant).max(INVARIANTS_MAX).optional(),
  supersede: SupersedeRights.optional(),
  /** A handoff that keeps a smaller share of what was established is refused, superseded or not. */
  minConfidence: z.number().min(0).max(1).optional(),
  /** A name that says the same thing twice with two values: `sure` refuses where both are plainly about one thing, and warns elsewhere. */
  restated: z.enum(['off', 'warn', 'sure', 'reject']).optional(),
  ungrounded: z.enum(['off', 'warn', 'reject']).optional(),
  /** What a judge's verdict on a handoff does to the next one: it is on record in any case. */
  judge: z.enum(['warn', 'reject']).optional(),
  /** Tokens of a handoff that would pass a limit of the budget: recorded as overshoot (the default), or the handoff is refused. */
  overshoot: z.enum(['record', 'refuse']).optional(),
  /** Whose answers move what is established. */
  evidence: z.array(ToolTrust).max(TOOLS_MAX).optional(),
  /** What a suspect change comes to: it is accepted with a warning (the default), calls with effects wait for a person as well, or it is refused as a certain one is. */
  suspect: Suspect.optional(),
  /** Whether agents may declare places that move, each beside its handoff: `reasoned` (the default), or `none`. */
  declare: z.enum(['reasoned', 'none']).optional(),
  /** `record`: nothing is refused, and each finding that would refuse says so. */
  enforce: z.enum(['record', 'refuse']).optional(),
  /** Calls that somebody has to approve before they run. */
  approve: z.array(ApprovalRule).max(APPROVAL_RULES_MAX).optional(),
}

export function isWithinPolicySize(policy: object): boolean {
  return JSON.stringify(policy).length <= POLICY_MAX_CHARS
}
export const POLICY_TOO_LARGE = `a policy has at most ${POLICY_MAX_CHARS} characters`

/** Whether a pointer may name places that move. */
export function isPlacePointer(pointer: string): boolean {
  return Pointer.safeParse(pointer).success
}

export const PlacePolicy = z.strictObject(PLACE_POLICY).refine(isWithinPolicySize, POLICY_TOO_LARGE)

export type Move = z.infer<typeof Move>
export type Declaration = z.infer<typeof Declaration>
export type ListRule = z.infer<typeof ListRule>
export type PlacePolicy = z.infer<typeof PlacePolicy>
