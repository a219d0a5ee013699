/** @module The side of the thread that looks at rows: a range of them read, each checked by itself, and what is sound put into columns. */
import type { ScanItem } from '../../store/sqlite/scanned-rows.ts'
import type { SoundChecks } from '../sound-checks.ts'
import type { LookedRows, RowRange } from './protocol.ts'
import { SoundColumns } from './sound-columns.ts'

/** Rows that are handed over as they are: beyond so many characters the rest of the range is left for another time. */
const OTHERS_MAX_CHARS = 1024 * 1024

export interface RangeOfRows {
  readonly range: (
    range: RowRange,
  ) => Iterable<{ readonly item: ScanItem; readonly position: number; readonly size: number }>
  /** The row at a position, alone. */
  readonly at: (position: string) => ScanItem
  /** Ids of the streams that were named since the last time. */
  readonly takeUsed: () => readonly number[]
}

/** Undefined where the rows cannot be read, or are not one at every position of the range: then they are read by whoever judges them. */
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
        // What passes between threads holds no block of others.
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
    // The one who judges meets the same, and says what it is.
    return undefined
  } finally {
    used = rows.takeUsed()
  }
  if (count < to - after && othersChars < OTHERS_MAX_CHARS) return undefined
  return { after, through: after + count, sizes: sizes.subarray(0, count), used, others, ...sound.columns() }
}
