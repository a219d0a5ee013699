/** @module Tells a tool's own failures from errors of the runtime, using only recorded properties, so that resume and replay decide alike. */
import { type ExecutionContext, signalAt } from '../runtime/execution-context.ts'

/** Errors of the runtime and refusals of the ledger: code must not continue after one as if the call had merely failed. */
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

/** Whether the executor of a plan may continue after this failure of a call: it is the tool's own, and nothing stops the code here. */
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
