/** @module The error for a view that cannot follow the store: an answer from its present state would silently lack events. */
import { StoreUnavailableError } from '../../store/event-store.ts'

const RETRY_AFTER_MS = 5_000
/** SQLite errors for a value that does not fit its column, as opposed to a file that accepts no writes. */
const ROW_CODES = /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG)/

/** Whether the content of an event could not be written, as opposed to a file that accepts no writes. */
export function isOfRows(cause: unknown): boolean {
  if (cause instanceof TypeError || cause instanceof RangeError) return true
  return cause instanceof Error && 'code' in cause && ROW_CODES.test(String(cause.code))
}

/** The file of a view cannot be written, as on a full disk. Nothing is answered from it until it has caught up with the store. */
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
