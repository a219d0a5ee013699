/** @module The worker side of parallel verification: reads a range of rows, checks each on its own, and packs the sound ones into columns. */
import type { ScanItem } from '../../store/sqlite/scanned-rows.ts'
import type { SoundChecks } from '../sound-checks.ts'
import type { LookedRows, RowRange } from './protocol.ts'
import { SoundColumns } from './sound-columns.ts'

/** Limit for rows that are passed on unchanged: beyond this many characters, the rest of the range is left for later. */
const OTHERS_MAX_CHARS = 1024 * 1024

export interface RangeOfRows {
  readonly range: (
    range: RowRange,
  ) => Iterable<{ readonly item: ScanItem; readonly position: number; readonly size: number }>
  /** The row at a position, read separately. */
  readonly at: (position: string) => ScanItem
  /** Ids of the streams that were named since the last call. */
  readonly takeUsed: () => readonly number[]
}

/** Undefined if the rows cannot be read, or if not every position of the range has exactly one row: the judging thread then reads them itself. */
export function lookAtRows(rows: RangeOfRows, checks: SoundChecks, range: RowRange): LookedRows | undefined {
  const { after, to } = range
  const sound = new SoundColumns(to - after)
  const sizes = new Float64Array(to - after)
  const others: { at: number; item: ScanItem }[] = []
  let [count, othersChars, used] = [0, 0, [] as readonly number[]]
  try {
    for (const { item, position, size } of rows.range(range)) {
      if (position !== after + count + 1) return undefined
      const facts = 'fault' in item ? undefined : checks.look(item)
      if (facts === undefined) {
        // A row that was read as part of a block would carry the whole block to the other thread, so it is read again.
        others.push({ at: count, item: 'bytes' in item ? rows.at(item.position) : item })
        othersChars += size
      } else {
        sound.take(facts, count)
      }
      sizes[count] = size
      count += 1
      if (othersChars >= OTHERS_MAX_CHARS) break
    }
  } catch {
    // The judging thread will meet the same error and report it.
    return undefined
  } finally {
    used = rows.takeUsed()
  }
  if (count < to - after && othersChars < OTHERS_MAX_CHARS) return undefined
  return { after, through: after + count, sizes: sizes.subarray(0, count), used, others, ...sound.columns() }
}
