/** @module Searches the rows of a rare filter one range of the log at a time, because this thread is shared with writers. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AuditRow } from '../../../schemas/audit-fields.ts'
import { ScanWindow } from '../../resources/scan-window.ts'
import type { Pace } from '../../resources/work-queue.ts'
import type { LeafPage } from '../../store/audit-index.ts'

interface Walk {
  readonly size: number
  readonly pace?: Pace | undefined
  readonly window?: ScanWindow
}

/** The same rows that one read of all `size` leaves would return. Throws `ReaderLeftError` if the reader of `pace` has left. */
export async function windowedRows(
  rowsOf: (page: LeafPage) => readonly AuditRow[],
  { after, limit, newestFirst = false }: LeafPage,
  { size, pace, window = new ScanWindow() }: Walk,
): Promise<readonly AuditRow[]> {
  const found: AuditRow[] = []
  for (let from = after ?? (newestFirst ? size : -1); ; ) {
    const wait = pace?.turn()
    if (wait !== undefined) await wait
    const upTo = newestFirst ? from - window.width : from + window.width
    found.push(...window.measure(() => rowsOf({ after: from, upTo, limit: limit - found.length, newestFirst })))
    if (found.length >= limit || upTo < 0 || upTo >= size) return found
    from = upTo
    await nextTurn()
  }
}
