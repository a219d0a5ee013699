/** @module Pages of the store in portions, each in a slice of its reader's time: whatever is made of a portion falls into that slice, too. */
import type { Pace } from '../resources/work-queue.ts'
import type { EventStore } from './event-store.ts'

/** What is made of a portion takes about a millisecond; one record may be larger. */
const PORTION_RECORDS = 16
const PORTION_CHARS = 32 * 1024

interface Sized {
  readonly header: unknown
  readonly data: unknown
}

/** The same records in the same order; without a pace, the pages as they are. Throws `ReaderLeftError`. */
export function pacedPages<T extends Sized>(
  pages: AsyncIterable<readonly T[]>,
  pace: Pace | undefined,
): AsyncIterable<readonly T[]> {
  return pace === undefined ? pages : inPortions(pages, pace)
}

async function* inPortions<T extends Sized>(
  pages: AsyncIterable<readonly T[]>,
  pace: Pace,
): AsyncGenerator<readonly T[]> {
  await pace.turn()
  for await (const page of pages) {
    for (let from = 0; from < page.length; ) {
      const wait = pace.turn()
      if (wait !== undefined) await wait
      const end = portionEnd(page, from)
      yield page.slice(from, end)
      from = end
    }
    // Reading the next page is work as well.
    const wait = pace.turn()
    if (wait !== undefined) await wait
  }
}

function portionEnd(page: readonly Sized[], from: number): number {
  let chars = 0
  for (let at = from; at < page.length; at += 1) {
    const { header, data } = page[at] as Sized
    chars += lengthOf(header) + lengthOf(data)
    if (chars >= PORTION_CHARS || at - from + 1 >= PORTION_RECORDS) return at + 1
  }
  return page.length
}

const lengthOf = (part: unknown): number => (typeof part === 'string' ? part.length : 0)

/** A store whose pages come at one pace: for indexing that has no reader. */
export function pacedStore(store: EventStore, pace: Pace | undefined): EventStore {
  if (pace === undefined) return store
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'readStream')
        return (...request: Parameters<EventStore['readStream']>) => pacedPages(target.readStream(...request), pace)
      if (name === 'readAll')
        return (...query: Parameters<EventStore['readAll']>) => pacedPages(target.readAll(...query), pace)
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
