/**
 * @module The rows of a store in their order, looked at by several threads before they come by. What they do not find sound in every respect comes as it
 * is read, and from the first range on that is not whole, all of it: so whoever judges comes to what they would come to alone.
 */
import { PageCuts, type RowScan } from '../../store/sqlite/scanned-rows.ts'
import type { SourceItem } from '../source-item.ts'
import { type LookedRows, NUMBERS, type RowRange } from './protocol.ts'
import type { VerifyThreads } from './verify-threads.ts'

/** Rows in one range: some 600 kB once they were looked at. */
export const RANGE_ROWS = 2_048
/** Ranges under way for each thread: one is looked at, one waits, so that no thread does. */
const AHEAD = 2

/** As `scan.pages()`, of records that may have been looked at. `rangeRows` is for tests. */
export async function* soundPages(
  scan: RowScan,
  threads: Pick<VerifyThreads, 'look' | 'count'>,
  rangeRows = RANGE_ROWS,
): AsyncGenerator<readonly SourceItem[], void> {
  yield* scan.opening()
  const cuts = new PageCuts()
  const used = new Set<number>()
  const ahead: { readonly range: RowRange; readonly rows: Promise<LookedRows | undefined> }[] = []
  let next = 0
  const fill = (): void => {
    while (ahead.length < threads.count * AHEAD && next < scan.expected) {
      const range = { after: next, to: Math.min(next + rangeRows, scan.expected) }
      ahead.push({ range, rows: threads.look(range) })
      next = range.to
    }
  }
  for (fill(); ahead.length > 0; fill()) {
    const { range, rows: coming } = ahead.shift() ?? raise()
    const rows = await coming
    if (rows === undefined) break
    if (rows.through < range.to) {
      const rest = { after: rows.through, to: range.to }
      ahead.unshift({ range: rest, rows: threads.look(rest) })
    }
    for (const id of rows.used) used.add(id)
    for (const size of rows.sizes) cuts.take(size)
    yield itemsOf(rows, scan)
  }
  yield* scan.rest(cuts, used)
}

function raise(): never {
  throw new Error('no range is under way')
}

function itemsOf(rows: LookedRows, scan: Pick<RowScan, 'at'>): SourceItem[] {
  const items: SourceItem[] = []
  const others = new Map(rows.others.map(({ at, item }) => [at, item]))
  for (let at = 0, sound = 0; at < rows.sizes.length; at += 1) {
    const other = others.get(at)
    if (other !== undefined) {
      items.push(other)
      continue
    }
    items.push(soundRecord(rows, sound, scan))
    sound += 1
  }
  return items
}

function soundRecord(rows: LookedRows, at: number, scan: Pick<RowScan, 'at'>): SourceItem {
  const { numbers, streams, tenants, ids, times, prevs, digests } = rows
  const first = at * NUMBERS
  const position = String(numbers[first])
  const place = numbers[first + 1] ?? -1
  const prev = prevs[at]
  return {
    sound: true,
    stream: streams[place] ?? '',
    tenant: tenants[place] ?? '',
    revision: numbers[first + 2] ?? -1,
    ringIndex: numbers[first + 3] ?? -1,
    behindClock: numbers[first + 4] === 1,
    position,
    id: ids[at] ?? '',
    time: times[at] ?? '',
    prev: prev === '' ? undefined : prev,
    digest: digests[at] ?? '',
    reread: () => scan.at(position),
  }
}
