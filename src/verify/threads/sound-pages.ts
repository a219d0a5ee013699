/**
 * @module The rows of a store in order, checked by several threads in advance. Rows that they do not find sound in every respect are passed on as read, and
 * from the first incomplete range on all rows are: so the result is the same as that of a single thread.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { PageCuts, type RowScan } from '../../store/sqlite/scanned-rows.ts'
import type { SoundChecks } from '../sound-checks.ts'
import type { SourceItem } from '../source-item.ts'
import { lookAtRows } from './look-at-rows.ts'
import type { LookedRows, RowRange } from './protocol.ts'
import { itemsOf } from './sound-columns.ts'
import type { VerifyThreads } from './verify-threads.ts'

/** Rows per range: about 150 kB after the check. */
export const RANGE_ROWS = 2_048
/** Ranges in progress per thread: one is checked and one waits, so that no thread is idle. */
const AHEAD = 2
/** Limit for ranges that wait for an earlier one: those that this thread checked while the others were starting, at most about 20 MB. */
const WAITING_MAX = 24

export interface Looking {
  readonly threads: Pick<VerifyThreads, 'look' | 'count'>
  /** Checks of this thread, which also checks rows when it would otherwise wait for the others. */
  readonly checks: SoundChecks
  /** Rows per range; set by tests. */
  readonly rangeRows?: number | undefined
}

/** Like `scan.pages()`, but records may be replaced by facts about sound rows. */
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
  /** Whether one of the other threads checks the range. */
  readonly isRemote: boolean
  readonly rows: Promise<LookedRows | undefined>
  isHere: boolean
}

/** Ranges of rows in order, each checked by the first thread that is free. */
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

  /** Undefined at the end, and from the first incomplete range on. Rejects if a thread has ended. */
  async next(): Promise<LookedRows | undefined> {
    this.#handOut()
    const first = this.#coming.shift() ?? (await this.#lookAlone())
    if (first === undefined) return undefined
    while (!first.isHere && this.#coming.length < WAITING_MAX) {
      const own = this.#lookHere()
      if (own === undefined) break
      this.#coming.push(own)
      // Results of the threads arrive between two turns of the event loop.
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

  /** Checks a range here while no thread is free. Results of the threads arrive between two turns of the event loop. */
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
