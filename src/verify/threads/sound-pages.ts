/**
 * @module The rows of a store in their order, looked at by several threads before they come by. What they do not find sound in every respect comes as it
 * is read, and from the first range on that is not whole, all of it: so whoever judges comes to what they would come to alone.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { PageCuts, type RowScan } from '../../store/sqlite/scanned-rows.ts'
import type { SoundChecks } from '../sound-checks.ts'
import type { SourceItem } from '../source-item.ts'
import { lookAtRows } from './look-at-rows.ts'
import type { LookedRows, RowRange } from './protocol.ts'
import { itemsOf } from './sound-columns.ts'
import type { VerifyThreads } from './verify-threads.ts'

/** Rows in one range: some 150 kB once they were looked at. */
export const RANGE_ROWS = 2_048
/** Ranges under way for each thread: one is looked at, one waits, so that no thread does. */
const AHEAD = 2
/** Ranges that wait for an earlier one: what this thread has looked at while the others began, and some 20 MB at most. */
const WAITING_MAX = 24

export interface Looking {
  readonly threads: Pick<VerifyThreads, 'look' | 'count'>
  /** Those of this thread, which looks at rows too where it would wait for the others. */
  readonly checks: SoundChecks
  /** For tests. */
  readonly rangeRows?: number | undefined
}

/** As `scan.pages()`, of records that may have been looked at. */
export async function* soundPages(scan: RowScan, looking: Looking): AsyncGenerator<readonly SourceItem[], void> {
  yield* scan.opening()
  const cuts = new PageCuts()
  const used = new Set<number>()
  const ranges = new Ranges(scan, looking)
  for (;;) {
    const rows = await ranges.next()
    if (rows === undefined) break
    for (const id of rows.used) used.add(id)
    for (const size of rows.sizes) cuts.take(size)
    yield itemsOf(rows, (position) => scan.at(position))
  }
  yield* scan.rest(cuts, used)
}

interface Coming {
  readonly range: RowRange
  /** By one of the threads. */
  readonly isRemote: boolean
  readonly rows: Promise<LookedRows | undefined>
  isHere: boolean
}

/** Ranges of rows in their order, each looked at by whoever has time first. */
class Ranges {
  readonly #scan: RowScan
  readonly #looking: Looking
  readonly #rangeRows: number
  readonly #coming: Coming[] = []
  #next = 0

  constructor(scan: RowScan, looking: Looking) {
    this.#scan = scan
    this.#looking = looking
    this.#rangeRows = looking.rangeRows ?? RANGE_ROWS
  }

  /** Undefined at the end, and from the first range on that is not whole. Rejects where a thread has ended. */
  async next(): Promise<LookedRows | undefined> {
    this.#handOut()
    const first = this.#coming.shift() ?? (await this.#lookAlone())
    if (first === undefined) return undefined
    while (!first.isHere && this.#coming.length < WAITING_MAX) {
      const own = this.#lookHere()
      if (own === undefined) break
      this.#coming.push(own)
      // What the threads have to say comes between two turns.
      await nextTurn()
      this.#handOut()
    }
    const rows = await first.rows
    if (rows !== undefined && rows.through < first.range.to)
      this.#coming.unshift(this.#lookElsewhere({ after: rows.through, to: first.range.to }))
    return rows
  }

  #handOut(): void {
    const { count } = this.#looking.threads
    let underWay = this.#coming.filter(({ isRemote, isHere }) => isRemote && !isHere).length
    for (; underWay < count * AHEAD && this.#coming.length < WAITING_MAX; underWay += 1) {
      const range = this.#take()
      if (range === undefined) return
      this.#coming.push(this.#lookElsewhere(range))
    }
  }

  #take(): RowRange | undefined {
    const after = this.#next
    if (after >= this.#scan.expected) return undefined
    this.#next = Math.min(after + this.#rangeRows, this.#scan.expected)
    return { after, to: this.#next }
  }

  #lookElsewhere(range: RowRange): Coming {
    const rows = this.#looking.threads.look(range)
    const coming: Coming = { range, isRemote: true, rows, isHere: false }
    const here = (): void => {
      coming.isHere = true
    }
    rows.then(here, here)
    return coming
  }

  /** While no thread has time. That one has it again is heard of between two turns. */
  async #lookAlone(): Promise<Coming | undefined> {
    const own = this.#lookHere()
    await nextTurn()
    return own
  }

  #lookHere(): Coming | undefined {
    const range = this.#take()
    if (range === undefined) return undefined
    const rows = Promise.resolve(lookAtRows(this.#scan, this.#looking.checks, range))
    return { range, isRemote: false, rows, isHere: true }
  }
}
