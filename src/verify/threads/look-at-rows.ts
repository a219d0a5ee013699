/** @module The side of the thread that looks at rows: a range of them read, each checked by itself, and what is sound put into columns. */
import type { ScanItem } from '../../store/sqlite/scanned-rows.ts'
import type { SoundChecks } from '../sound-checks.ts'
import type { SoundFacts } from '../source-item.ts'
import type { LookedRows, RowRange } from './protocol.ts'

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
  const columns = new Columns(range.after)
  try {
    for (const { item, position, size } of rows.range(range)) {
      if (position !== columns.through + 1) return undefined
      const facts = 'fault' in item ? undefined : checks.look(item)
      // What passes between threads holds no block of others.
      columns.take('bytes' in item && facts === undefined ? rows.at(item.position) : item, facts, size)
      if (columns.othersChars >= OTHERS_MAX_CHARS) break
    }
  } catch {
    // The one who judges meets the same, and says what it is.
    return undefined
  } finally {
    columns.used = rows.takeUsed()
  }
  const isWhole = columns.through === range.to || columns.othersChars >= OTHERS_MAX_CHARS
  return isWhole ? columns.rows() : undefined
}

class Columns {
  through: number
  used: readonly number[] = []
  othersChars = 0
  readonly #sizes: number[] = []
  readonly #places = new Map<string, number>()
  readonly #tenants: string[] = []
  readonly #numbers: number[] = []
  readonly #ids: string[] = []
  readonly #times: string[] = []
  readonly #prevs: string[] = []
  readonly #digests: string[] = []
  readonly #others: { at: number; item: ScanItem }[] = []

  constructor(after: number) {
    this.through = after
  }

  take(item: ScanItem, facts: SoundFacts | undefined, size: number): void {
    this.through += 1
    if (facts === undefined) {
      this.#others.push({ at: this.#sizes.length, item })
      this.othersChars += size
    } else {
      this.#numbers.push(this.through, this.#placeOf(facts), facts.revision, facts.ringIndex, facts.behindClock ? 1 : 0)
      this.#ids.push(facts.id)
      this.#times.push(facts.time)
      this.#prevs.push(facts.prev ?? '')
      this.#digests.push(facts.digest)
    }
    this.#sizes.push(size)
  }

  #placeOf({ stream, tenant }: SoundFacts): number {
    const known = this.#places.get(stream)
    if (known !== undefined) return known
    this.#places.set(stream, this.#tenants.length)
    return this.#tenants.push(tenant) - 1
  }

  rows(): LookedRows {
    return {
      through: this.through,
      sizes: Float64Array.from(this.#sizes),
      used: this.used,
      streams: [...this.#places.keys()],
      tenants: this.#tenants,
      numbers: Float64Array.from(this.#numbers),
      ids: this.#ids,
      times: this.#times,
      prevs: this.#prevs,
      digests: this.#digests,
      others: this.#others,
    }
  }
}
