/** @module Which failures of a call are its tool's own: judged by what the record keeps of them, so that a resume and a replay judge alike. */
import { type ExecutionContext, signalAt } from '../runtime/execution-context.ts'

/** Errors of the runtime and refusals of the ledger: whoever meets one cannot go on as if the call had failed. */
const NOT_OWN_NAMES: ReadonlySet<string> = new Set([
  'InDoubt',
  'LedgerRefused',
  'OutcomeNotRecorded',
  'ResumeDiverged',
  'RunWaiting',
])
const NOT_OWN_CODES: ReadonlySet<string> = new Set([
  'no-active-run',
  'not-recorded',
  'result-redacted',
  'result-not-recorded',
])

/** Whether whoever carries out a plan may go on past this failure of a call: it is the tool's own, and nothing stops the code here. */
export function mayPassOver(execution: ExecutionContext, error: unknown): boolean {
  const { halted, failed } = execution.session
  const stopped = halted !== undefined || failed !== undefined || signalAt(execution)?.aborted === true
  return !stopped && isOwnFailure(error)
}

function isOwnFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return true
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return !NOT_OWN_NAMES.has(error.name) && !NOT_OWN_CODES.has(code)
}
