/** @module Approvals as a program lists and decides them. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { AgentError, LedgerRefused } from '../errors.ts'
import { anyText, checkOptions, type OptionRules, text } from '../option-rules.ts'
import type { Connection } from './connection.ts'

/** A call that waits for an approval, or has waited for one. */
export interface Approval {
  readonly approvalId: string
  readonly runId: string
  readonly tool: string
  /** Absent if the arguments are too large to be shown in full; `argsPreview` is then the beginning of their JSON text. */
  readonly args?: Json
  readonly argsPreview?: string
  /** Digest of the arguments; a decision is bound to it. */
  readonly argsDigest: string
  /** `pending`, `granted`, `denied`, `expired`, `used`, or `closed` if the run ended first. */
  readonly status: string
  /** RFC 3339. */
  readonly requestedAt: string
  readonly expiresAt: string
  /** The actor that requested the call, and the principal it acts for. */
  readonly requestedBy: { readonly actor: string; readonly principal?: string }
  /** Each required consent: the rule it comes from, the reason, the number of approvers and their roles. */
  readonly needs: readonly {
    readonly source: string
    readonly reason: string
    readonly quorum: number
    readonly roles?: readonly string[]
  }[]
}

/** Identifies an approval and the arguments that the decision is about, as returned by `list` or `get`. */
export type ApprovalRef = Pick<Approval, 'runId' | 'approvalId' | 'argsDigest'>

/** Optional data that is recorded with a decision. */
export interface DecisionOptions {
  /** At most 4,096 characters. */
  readonly comment?: string
}

/**
 * Lists and decides approvals. Decisions are made in the name of the runtime's caller: the token's actor, or `open({ actor })`. The requester cannot approve
 * unless the rule allows it. Throws `LedgerRefused`: `approval-decided`, `approval-expired`, `approval-mismatch`, `self-approval`, `approval-role-missing`.
 * @example
 * ```ts
 * import { open } from 'countersign/agent'
 *
 * await using cs = await open({ path: './ledger', actor: 'alice' })
 * for await (const approval of cs.approvals.list()) {
 *   console.log(approval.tool, approval.args)
 *   await cs.approvals.grant(approval, { comment: 'checked the invoice' })
 * }
 * ```
 */
export interface Approvals {
  /**
   * Approvals of the tenant that can still be decided. If some runs cannot be read, throws `runs-unreadable` (with `problem.unreadable`) after the last item.
   */
  list(): AsyncIterable<Approval>
  get(runId: string, approvalId: string): Promise<Approval>
  /** Returns the resulting status: `granted`, or `pending` while further approvers are required. */
  grant(approval: ApprovalRef, options?: DecisionOptions): Promise<string>
  deny(approval: ApprovalRef, options?: DecisionOptions): Promise<string>
  /** Withdraws a grant that was not used yet; the call waits again. Throws `approval-used`. */
  withdraw(approval: ApprovalRef, options?: DecisionOptions): Promise<string>
}

export function approvalsOf(connection: Connection, open: <T>(work: () => Promise<T>) => Promise<T>): Approvals {
  const decide = async (
    kind: 'grant' | 'deny' | 'withdraw',
    approval: ApprovalRef,
    options: DecisionOptions,
  ): Promise<string> => {
    checkDecision(`cs.approvals.${kind}`, approval, options)
    const { runId, approvalId, argsDigest } = approval
    const { comment } = options
    const body = { argsDigest, ...(comment !== undefined && { comment }) }
    const reply = await connection.execute(runId, { kind, approvalId, body })
    if (!reply.ok) throw new LedgerRefused(reply.problem)
    return String(reply.body.status)
  }
  return {
    list: async function* () {
      for await (const item of connection.approvals()) yield approvalOf(item)
    },
    get: (runId, approvalId) => open(async () => approvalOf(await connection.approval(runId, approvalId))),
    grant: (approval, options = {}) => open(() => decide('grant', approval, options)),
    deny: (approval, options = {}) => open(() => decide('deny', approval, options)),
    withdraw: (approval, options = {}) => open(() => decide('withdraw', approval, options)),
  }
}

const DECISION: OptionRules<DecisionOptions> = { comment: anyText }

/** Validates a decision and the approval that it names. Throws `invalid-option`. */
function checkDecision(of: string, approval: unknown, options: unknown): void {
  const { runId, approvalId, argsDigest } = Object(approval) as Partial<Record<keyof ApprovalRef, unknown>>
  if ([runId, approvalId, argsDigest].some((each) => text(each) !== undefined))
    throw new AgentError(
      'invalid-option',
      `${of} takes an approval as cs.approvals.list() and cs.approvals.get(runId, approvalId) give it: { runId, approvalId, argsDigest }`,
    )
  checkOptions(of, options, DECISION)
}

/** The ledger's document has all members of the interface, and more. */
const approvalOf = (item: JsonObject): Approval => item as unknown as Approval
