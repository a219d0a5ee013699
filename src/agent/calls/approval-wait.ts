/** @module Waiting for the decision on a call: polls the ledger, or leaves the run to a later process. */
import type { JsonObject } from '../../../schemas/json.ts'
import { COMMENT_MAX_CHARS } from '../../../schemas/value-forms.ts'
import { clip, RunWaiting } from '../errors.ts'
import { ApprovalDenied } from '../loop/tool-error.ts'
import type { Problem } from '../runtime/connection.ts'
import { type ExecutionContext, signalAt } from '../runtime/execution-context.ts'
import type { Going } from '../runtime/leaving.ts'
import type { Turn } from '../runtime/outcome-order.ts'
import type { Session } from '../runtime/session.ts'
import type { ApprovalNotice } from './approval-notice.ts'
import { tell } from './tell.ts'

const FIRST_LOOK_MS = 100
const LOOK_MS = 2_000

export class ApprovalWait {
  readonly #session: Session
  readonly #tool: string
  #waitMs = FIRST_LOOK_MS
  #noticed: string | undefined

  constructor(session: Session, tool: string) {
    this.#session = session
    this.#tool = tool
  }

  /** Waits until the next poll is due. Throws `RunWaiting` and halts the run if this process leaves it now; rejects if the signal is aborted. */
  async again(
    { detail, evidence }: Pick<Problem, 'detail' | 'evidence'>,
    { turn, answers, execution, own }: { turn: Turn; answers: number; execution: ExecutionContext; own: Going },
  ): Promise<void> {
    const notice = this.#noticeOf(detail, evidence)
    if (this.#noticed !== notice.approvalId) {
      this.#noticed = notice.approvalId
      tell('onApproval', this.#session.registry.onApproval, notice)
    }
    const { leaving, order } = this.#session
    const wait = { callers: execution.ancestors, own }
    if (leaving.leaves(wait)) {
      const { runId, tool, approvalId, expiresAt } = notice
      throw this.#session.halt(new RunWaiting(`${tool} waits for an approval`, { runId, tool, approvalId, expiresAt }))
    }
    const look = { waitMs: this.#waitMs, answers, signal: signalAt(execution) }
    await leaving.waits(wait, () => order.untilNextLook(turn, look))
    this.#waitMs = Math.min(this.#waitMs * 2, LOOK_MS)
  }

  #noticeOf(reason: string, { approvalId, argsDigest, expiresAt }: JsonObject): ApprovalNotice {
    const call = { runId: this.#session.runId, tool: this.#tool }
    return {
      ...call,
      approvalId: String(approvalId),
      argsDigest: String(argsDigest),
      expiresAt: String(expiresAt),
      why: reason,
    }
  }
}

const REFUSED = { 'approval-denied': 'denied', 'approval-expired': 'expired' } as const

/** Whether a refusal is final: the approval was denied or has expired. */
export const isDecided = (code: string): code is keyof typeof REFUSED => Object.hasOwn(REFUSED, code)

/**
 * The error for a call that was not approved. A model can read it, and it is the same live, on resume and on replay. If the rule says so, the run is rolled
 * back as well. Undefined for any other refusal.
 */
export function notApproved(session: Session, tool: string, { code, evidence }: Problem): ApprovalDenied | undefined {
  if (!isDecided(code)) return undefined
  const { approvalId, onDenied, comment } = evidence
  const commentText = typeof comment === 'string' && comment !== '' ? `: ${clip(comment, COMMENT_MAX_CHARS)}` : ''
  const outcome = REFUSED[code]
  const text =
    outcome === 'denied'
      ? `the call of ${tool} was not approved and did not run${commentText}`
      : `the call of ${tool} was not approved in time and did not run`
  const error = new ApprovalDenied(text, { code, approvalId: String(approvalId) })
  return onDenied === 'rollback' ? session.failing(error) : error
}
