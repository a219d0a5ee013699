/** @module A request that the ledger refused in an earlier execution of the run is refused again at the same place, in the same words (RUN-191). */
import type { requestMark } from '../../../schemas/refused-request.ts'
import { LedgerRefused } from '../errors.ts'
import type { Turn } from '../runtime/outcome-order.ts'
import type { Session } from '../runtime/session.ts'

/** Repeats the refusal that the record has of a request: throws it, if there is one; otherwise the request must be made. */
export function refusedAsThen(session: Session, turn: Turn, requested: Parameters<typeof requestMark>[0]): void {
  const refused = session.history?.refused(requested)
  if (refused === undefined) return
  turn.recordedRefusal(refused.after)
  throw new LedgerRefused(refused.refusal)
}
