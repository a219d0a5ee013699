/** @module Texts for a model and a person about a call that did not run, or whose outcome is unknown: what happened, and what to do. */
import { LedgerError } from '../client/errors.ts'
import { type ToolCall, textResult } from './json-rpc.ts'

export interface CallPlace {
  readonly runId: string
  readonly callId: string
  readonly tool: string
}

/** Where people act: the pages of a served ledger, else its commands. */
export interface Desk {
  /** URL of the ledger; undefined if the ledger is in this process. */
  readonly url: string | undefined
}

export function openElsewhere(call: CallPlace, desk: Desk): string {
  return `Not run: an equal call of ${call.tool} has no known outcome yet (call ${call.callId} of run ${call.runId}). If it still runs, wait for it. Otherwise a person must find out whether it was executed and then resolve it: ${resolving(call, desk)}. Do not try another way to the same effect before that.`
}

export function outcomeUnknown(call: CallPlace, reason: string, desk: Desk): string {
  return `Whether ${call.tool} was executed is not known: ${reason}. The call is in doubt (call ${call.callId} of run ${call.runId}) and must not be made again before a person has found out and resolved it: ${resolving(call, desk)}.`
}

export function notRecorded(tool: string, why: string): string {
  return `${tool} was executed, but the ledger could not record its outcome (${why}), so the answer is held back. Do not call it again: the call is in doubt until the ledger is reached again or a person resolves it.`
}

export function ledgerAway(tool: string, why: string): string {
  return `Not run: the ledger that must record the call of ${tool} cannot do so (${why}). Nothing was forwarded. Ask again once the ledger is back; a person can look at it with "countersign serve" and its log.`
}

/** The person did not open the page, which decides nothing. */
export function notOpened(
  { id, tool }: Pick<ToolCall, 'id' | 'tool'>,
  { runId, approval }: { readonly runId: string; readonly approval: string },
  desk: Desk,
): string {
  return textResult(
    id,
    `Not run: ${tool} needs an approval of these arguments, and the person did not open its page. Approval ${approval} of run ${runId} still waits for a decision: ${approving(runId, approval, desk)}.`,
  )
}

/** Describes a refusal of the ledger; codes that are not listed carry their own text. */
export function refusalText(
  error: LedgerError,
  call: { readonly tool: string; readonly runId: string },
  desk: Desk,
): string {
  const approval = String(error.problem.approvalId ?? '')
  switch (error.code) {
    case 'approval-pending':
      return `Not run: ${call.tool} needs an approval of these arguments. Approval ${approval} of run ${call.runId} waits for a decision: ${approving(call.runId, approval, desk)}. Ask again with the same arguments once it is granted; it then runs once.`
    case 'call-in-progress':
    case 'call-in-doubt':
      return openElsewhere({ ...call, callId: String(error.problem.callId ?? '') }, desk)
    case 'approval-denied':
      return `Not run: the approval of ${call.tool} was denied (approval ${approval} of run ${call.runId}). Do not ask for the same again.`
    case 'approval-expired':
      return `Not run: no decision came in time on the approval of ${call.tool} (approval ${approval} of run ${call.runId}). Asking again requests a new one.`
    case 'budget-exceeded':
      return `Not run: the budget of run ${call.runId} does not allow ${call.tool}: ${error.message}. Nothing was spent. A person can start a run with a larger budget.`
    default:
      return `Not run: the ledger refused the call of ${call.tool}: ${error.code}: ${error.message}`
  }
}

function resolving({ runId, callId }: CallPlace, { url }: Desk): string {
  const command = `countersign calls resolve ${runId} ${callId} --executed (or --not-executed) --reason TEXT`
  return url === undefined
    ? `${command}, after this session`
    : `${url}/ui/runs/${runId}/calls/${callId}/resolve, or ${command} --url ${url}`
}

function approving(runId: string, approvalId: string, { url }: Desk): string {
  return url === undefined
    ? 'it cannot be decided while this process has the ledger to itself: end the session, run "countersign serve", and start again'
    : approvalPage(runId, approvalId, { url })
}

export function approvalPage(runId: string, approvalId: string, { url = '' }: Desk): string {
  return `${url}/ui/runs/${runId}/approvals/${approvalId}`
}

/** The reason why the ledger could not record, as text for a person. */
export function reasonOfError(error: unknown): string {
  return error instanceof LedgerError
    ? `${error.code}: ${error.message}`
    : error instanceof Error
      ? error.message
      : String(error)
}
