/** @module Splits pages of the store into portions, each within a time slice of its reader, so that the processing of a portion falls into the same slice. */
import type { Pace } from '../resources/work-queue.ts'
import type { EventStore } from './event-store.ts'

/** Sized so that processing a portion takes about a millisecond; a single record may be larger. */
const PORTION_RECORDS = 16
const PORTION_CHARS = 32 * 1024

interface Sized {
  readonly header: unknown
  readonly data: unknown
}

/** The same records in the same order; without a pace, the original pages. Throws `ReaderLeftError`. */
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
    // Reading the next page takes time as well.
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

/** A store that returns its pages at one pace, for indexing that runs without a reader. */
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
