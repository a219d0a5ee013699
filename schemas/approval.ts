/** @module Rules for calls that need a person's approval before they run (RUN-60 to RUN-65). */
import { z } from 'zod'
import { parseExpression } from './expression.ts'
import { Digest, Name } from './names.ts'
import {
  APPROVAL_EXPIRES_MAX_MS,
  APPROVAL_EXPIRES_MIN_MS,
  APPROVAL_REASON_MAX_CHARS,
  APPROVAL_ROLES_MAX,
  COMMENT_MAX_CHARS,
  QUORUM_MAX,
} from './value-forms.ts'

/** Maximum number of pending approvals of one run. */
export const APPROVALS_OPEN_MAX = 256
/** One week: a request from Friday evening can be decided on Monday, or on Tuesday after a holiday. */
export const APPROVAL_EXPIRES_DEFAULT_MS = 7 * 24 * 60 * 60_000

/** Documents that an approval's condition may refer to: the call's arguments, as recorded. */
const WHEN_ROOTS = ['args'] as const

export const parseWhen = (text: string): ReturnType<typeof parseExpression> => parseExpression(text, WHEN_ROOTS)

/** A condition over the arguments, in the language of a policy's invariants: `args.amount > 1000`. */
const When = z
  .string()
  .min(1)
  .superRefine((text, context) => {
    const parsed = parseWhen(text)
    if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.message })
  })

const RULE = {
  /** Absent: every call. If the condition cannot be evaluated for the arguments, the call needs the approval. */
  when: When.optional(),
  /** Shown to the person who decides. */
  reason: z.string().min(1).max(APPROVAL_REASON_MAX_CHARS).optional(),
  /** Number of different people who have to approve; default 1. */
  quorum: z.int().min(1).max(QUORUM_MAX).optional(),
  /** Only tokens with one of these roles count. */
  roles: z.array(Name).min(1).max(APPROVAL_ROLES_MAX).optional(),
  /** Milliseconds within which the approval has to be decided and used; default seven days. */
  expiresMs: z.int().min(APPROVAL_EXPIRES_MIN_MS).max(APPROVAL_EXPIRES_MAX_MS).optional(),
  /** The requester may approve too. */
  selfApproval: z.boolean().optional(),
  /** Effect of a denial on the run: an error that its code can handle (the default), or a rollback that ends the run. */
  onDenied: z.enum(['error', 'rollback']).optional(),
}

/** The rule as a tool declares it with its claim. */
export const Approve = z.strictObject(RULE)

/** The rule as a policy or a manifest declares it, for the named tools; for all tools if none is named. */
export const ApprovalRule = z.strictObject({ tools: z.array(Name).min(1).max(APPROVAL_ROLES_MAX).optional(), ...RULE })

/** One rule that applies to a call. Each rule has to be satisfied by people with its own roles; one person may count for several rules. */
export const ApprovalNeed = z.strictObject({
  /** `suspect`: the policy holds calls with effects while suspect changes of the run await a review. */
  source: z.enum(['tool', 'manifest', 'policy', 'suspect']),
  reason: z.string(),
  quorum: z.int().min(1).max(QUORUM_MAX),
  roles: z.array(Name).optional(),
  /** Ids of the open suspects. */
  suspects: z.array(z.string()).optional(),
})

/** A decision on an approval; `argsDigest` binds it to the arguments that the person has seen. */
export const DecideApproval = z.strictObject({
  /** Digest of the request as it was shown; a decision on other arguments is refused. */
  argsDigest: Digest,
  comment: z.string().max(COMMENT_MAX_CHARS).optional(),
})

export type Approve = z.infer<typeof Approve>
export type ApprovalRule = z.infer<typeof ApprovalRule>
export type ApprovalNeed = z.infer<typeof ApprovalNeed>
export type DecideApproval = z.infer<typeof DecideApproval>
