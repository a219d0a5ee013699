/** @module Rows of a rare filter, looked for a stretch of the log at a time: this thread is shared with whoever appends. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AuditRow } from '../../../schemas/audit-fields.ts'
import type { Pace } from '../../resources/work-queue.ts'
import type { LeafPage } from '../../store/audit-index.ts'

/** Leaves that one statement looks through. */
const WINDOW_LEAVES = 20_000

/** As one read of all `size` leaves would give them. Throws `ReaderLeftError` where the reader of `pace` has left. */
export async function windowedRows(
  rowsOf: (page: LeafPage) => readonly AuditRow[],
  { after, limit, newestFirst = false }: LeafPage,
  { size, pace }: { readonly size: number; readonly pace?: Pace | undefined },
): Promise<readonly AuditRow[]> {
  const found: AuditRow[] = []
  for (let from = after ?? (newestFirst ? size : -1); ; ) {
    const upTo = newestFirst ? from - WINDOW_LEAVES : from + WINDOW_LEAVES
    const wait = pace?.turn()
    if (wait !== undefined) await wait
    found.push(...rowsOf({ after: from, upTo, limit: limit - found.length, newestFirst }))
    if (found.length >= limit || upTo < 0 || upTo >= size) return found
    from = upTo
    await nextTurn()
  }
}
