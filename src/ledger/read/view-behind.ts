/** @module What answers rest on cannot follow the store: an answer from where it is would lack events without a word. */
import { StoreUnavailableError } from '../../store/event-store.ts'

const RETRY_AFTER_MS = 5_000

/** The file of a view takes no writes, as on a full disk. Nothing is answered from it before it is where the store is. */
export class ViewBehindError extends StoreUnavailableError {
  constructor(view: 'the run list' | "the auditors' index", cause: unknown) {
    super(`${view} cannot follow the store: its file takes no writes, as on a full disk`, RETRY_AFTER_MS)
    this.name = 'ViewBehindError'
    this.cause = cause
  }
}
