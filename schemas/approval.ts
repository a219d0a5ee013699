/** @module When a person has to say yes to a call before it runs, and what that takes (RUN-60 to RUN-65). */
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

export const APPROVAL_RULES_MAX = 32
/** That wait for a decision in one run. */
export const APPROVALS_OPEN_MAX = 256
/** A week: what was requested on a Friday evening can be decided on Monday, also on the Tuesday after a holiday. */
export const APPROVAL_EXPIRES_DEFAULT_MS = 7 * 24 * 60 * 60_000

/** What an approval's condition is about: the call's arguments, as they are recorded. */
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
  /** Absent: every call. Where it cannot be judged on these arguments, the call needs the approval. */
  when: When.optional(),
  /** Shown to whoever decides. */
  reason: z.string().min(1).max(APPROVAL_REASON_MAX_CHARS).optional(),
  /** How many different people have to say yes; default 1. */
  quorum: z.int().min(1).max(QUORUM_MAX).optional(),
  /** Only tokens with one of these roles count. */
  roles: z.array(Name).min(1).max(APPROVAL_ROLES_MAX).optional(),
  /** Milliseconds within which it has to be decided and used; default seven days. */
  expiresMs: z.int().min(APPROVAL_EXPIRES_MIN_MS).max(APPROVAL_EXPIRES_MAX_MS).optional(),
  /** The requester may say yes as well. */
  selfApproval: z.boolean().optional(),
  /** What a denial is to the run: an error that its code can deal with (the default), or its end, rolled back. */
  onDenied: z.enum(['error', 'rollback']).optional(),
}

/** As a tool says it, with its claim. */
export const Approve = z.strictObject(RULE)

/** As a policy or a manifest says it, of the tools that it names; of all where it names none. */
export const ApprovalRule = z.strictObject({ tools: z.array(Name).min(1).max(APPROVAL_ROLES_MAX).optional(), ...RULE })

/** One rule that a call has met: each has to be satisfied by people of its own roles, and one person may count for several rules. */
export const ApprovalNeed = z.strictObject({
  /** `suspect`: the policy holds calls with effects while changes of the run wait for a review. */
  source: z.enum(['tool', 'manifest', 'policy', 'suspect']),
  reason: z.string(),
  quorum: z.int().min(1).max(QUORUM_MAX),
  roles: z.array(Name).optional(),
  /** Ids of the suspects that were open. */
  suspects: z.array(z.string()).optional(),
})

/** What is decided: `argsDigest` binds it to the arguments that the caller has seen. */
export const DecideApproval = z.strictObject({
  /** Of the request, as it was shown: a decision on other arguments is refused. */
  argsDigest: Digest,
  comment: z.string().max(COMMENT_MAX_CHARS).optional(),
})

export type Approve = z.infer<typeof Approve>
export type ApprovalRule = z.infer<typeof ApprovalRule>
export type ApprovalNeed = z.infer<typeof ApprovalNeed>
export type DecideApproval = z.infer<typeof DecideApproval>
