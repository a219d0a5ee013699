/** @module What a policy declares about places of a context, each named by a JSON Pointer in which `*` is any key or list member. */
import { z } from 'zod'
import { APPROVAL_RULES_MAX, ApprovalRule } from './approval.ts'
import { parseExpression } from './expression.ts'
import { NAME_MAX_CHARS } from './value-forms.ts'

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

export const MOVE_KINDS = ['counter', 'clock', 'gauge', 'cursor', 'done', 'state', 'log', 'free'] as const
const STATES_MAX = 32

const Move = z
  .strictObject({
    path: Pointer,
    as: z.enum(MOVE_KINDS, `is one of ${MOVE_KINDS.join(', ')}`),
    /** The words of a `state`, the first one first. */
    order: z.array(Key).min(2).max(STATES_MAX).optional(),
    reason: z.string().max(1024).optional(),
  })
  .refine(({ as, order }) => (as === 'state') === (order !== undefined), {
    message: 'a state has the order of its words, as order: [first, ..., last], and nothing else has one',
    path: ['order'],
  })

/** Places that move, declared by whoever runs the ledger or begins the run: no manifest has them. */
export const Moves = z.array(Move).max(PLACES_MAX)

const SupersedeRights = z.strictObject({
  /** Agents that may supersede; without it all may. */
  roles: z.array(Key).max(KEYS_MAX).optional(),
  reasonMinChars: z.int().min(1).max(1024).optional(),
  /** Places whose change no entry permits. */
  never: z.array(Pointer).max(PLACES_MAX).optional(),
})

const Suspect = z.enum(['record', 'refuse'], {
  error: ({ input }) =>
    input === 'hold'
      ? 'is "record" or "refuse": "hold" is not there yet; name the calls that wait for a person in approve'
      : 'is "record" or "refuse"',
})

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
  /** What a suspect change comes to: it is accepted with a warning (the default), or refused as a certain one is. */
  suspect: Suspect.optional(),
  /** `record`: nothing is refused, and each finding that would refuse says so. */
  enforce: z.enum(['record', 'refuse']).optional(),
  /** Calls that somebody has to approve before they run. */
  approve: z.array(ApprovalRule).max(APPROVAL_RULES_MAX).optional(),
}

export function isWithinPolicySize(policy: object): boolean {
  return JSON.stringify(policy).length <= POLICY_MAX_CHARS
}
export const POLICY_TOO_LARGE = `a policy has at most ${POLICY_MAX_CHARS} characters`

export const PlacePolicy = z.strictObject(PLACE_POLICY).refine(isWithinPolicySize, POLICY_TOO_LARGE)

export type Move = z.infer<typeof Move>
export type ListRule = z.infer<typeof ListRule>
export type PlacePolicy = z.infer<typeof PlacePolicy>
