/** @module A request that an earlier life of the run was refused: this one is refused it at the same place, in the same words (RUN-191). */
import type { requestMark } from '../../../schemas/refused-request.ts'
import { LedgerRefused } from '../errors.ts'
import type { Turn } from '../runtime/outcome-order.ts'
import type { Session } from '../runtime/session.ts'

/** Throws what the record has for it; else the request is to be made. */
export function refusedAsThen(session: Session, turn: Turn, requested: Parameters<typeof requestMark>[0]): void {
  const refused = session.history?.refused(requested)
  if (refused === undefined) return
  turn.recorded(refused.after)
  throw new LedgerRefused(refused.refusal)
}
