/** @module What answers rest on cannot follow the store: an answer from where it is would lack events silently. */
import { StoreUnavailableError } from '../../store/event-store.ts'

const RETRY_AFTER_MS = 5_000
/** Of SQLite: what was to be written does not fit its column, as opposed to a file that takes nothing. */
const ROW_CODES = /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG)/

/** Whether it was what an event says that could not be written, and not the file that takes no writes. */
export function isOfRows(cause: unknown): boolean {
  if (cause instanceof TypeError || cause instanceof RangeError) return true
  return cause instanceof Error && 'code' in cause && ROW_CODES.test(String(cause.code))
}

/** The file of a view takes no writes, as on a full disk. Nothing is answered from it before it is where the store is. */
export class ViewBehindError extends StoreUnavailableError {
  readonly view: 'the run list' | "the auditors' index"

  constructor(view: ViewBehindError['view'], cause: unknown) {
    const reason = isOfRows(cause)
      ? 'what an event says does not fit its file'
      : 'its file takes no writes, as on a full disk'
    super(`${view} cannot follow the store: ${reason}`, RETRY_AFTER_MS)
    this.name = 'ViewBehindError'
    this.view = view
    this.cause = cause
  }
}
