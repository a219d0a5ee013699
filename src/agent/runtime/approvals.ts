/** @module Calls that wait for people, as a program sees and decides them. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { LedgerRefused } from '../errors.ts'
import type { Connection } from './connection.ts'

/** A call that waits for somebody's yes, or has waited. */
export interface Approval {
  readonly approvalId: string
  readonly runId: string
  readonly tool: string
  /** Absent where they are too large to be shown whole: then `argsPreview` is how their JSON text begins. */
  readonly args?: Json
  readonly argsPreview?: string
  /** A decision is bound to it. */
  readonly argsDigest: string
  /** `pending`, `granted`, `denied`, `expired`, `used`, or `closed` where the run ended first. */
  readonly status: string
  /** RFC 3339. */
  readonly requestedAt: string
  readonly expiresAt: string
  /** The requester: who acts, and for whom. */
  readonly requestedBy: { readonly actor: string; readonly principal?: string }
  /** Who has to say yes, and why. */
  readonly needs: readonly {
    readonly source: string
    readonly reason: string
    readonly quorum: number
    readonly roles?: readonly string[]
  }[]
}

/** Which approval, and the arguments that are decided on: as `list` or `get` gave them. */
export type ApprovalRef = Pick<Approval, 'runId' | 'approvalId' | 'argsDigest'>

/** What is recorded with a decision. */
export interface DecisionOptions {
  /** At most 4,096 characters. */
  readonly comment?: string
}

/**
 * Decisions are made in the name of whoever the runtime writes as: a token's, or `open({ actor })`. The requester does not approve, unless the rule says so.
 * Throws `LedgerRefused`: `approval-decided`, `approval-expired`, `approval-mismatch`, `self-approval`, `approval-role-missing`.
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
  /** What can still be decided in the tenant; behind all others `runs-unreadable` is thrown, with `problem.unreadable`, where runs cannot be read. */
  list(): AsyncIterable<Approval>
  get(runId: string, approvalId: string): Promise<Approval>
  /** Gives the status now: `granted`, or `pending` while others have to say yes, too. */
  grant(approval: ApprovalRef, options?: DecisionOptions): Promise<string>
  deny(approval: ApprovalRef, options?: DecisionOptions): Promise<string>
  /** Takes back what was granted and not used yet: the call waits again. Throws `approval-used`. */
  withdraw(approval: ApprovalRef, options?: DecisionOptions): Promise<string>
}

export function approvalsOf(connection: Connection, open: <T>(work: () => Promise<T>) => Promise<T>): Approvals {
  const decide = async (
    kind: 'grant' | 'deny' | 'withdraw',
    { runId, approvalId, argsDigest }: ApprovalRef,
    { comment }: DecisionOptions,
  ): Promise<string> => {
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

/** What the ledger says of one is what the interface names, and more. */
const approvalOf = (item: JsonObject): Approval => item as unknown as Approval
