/** @module A store whose n-th read does what a test says, and that knows how many of its readers are still open. */
import type { EventStore, ReadRecord } from '../../src/store/event-store.ts'
import { wrapStore } from './wrap-store.ts'

/** Small, so that a short history takes many reads. */
const PAGE_RECORDS = 8

interface Breaks {
  /** The n-th read from now on, counted from 1, does this first; what it throws is thrown by the read. */
  breakAt(n: number, act: () => void | Promise<void>): void
  /** Since `breakAt`. */
  readonly reads: number
  /** Readers that were begun and have not ended. */
  readonly open: number
}

export type BreakingStore = EventStore & Breaks

/** `counts`: of which stream's reads are counted; others, and reads of no one stream (undefined), pass by. Default: of all. */
export function breakingStore(
  store: EventStore,
  counts: (stream: string | undefined) => boolean = () => true,
): BreakingStore {
  let [reads, at, open] = [0, 0, 0]
  let act: () => void | Promise<void> = () => undefined
  const step = async (): Promise<void> => {
    reads += 1
    if (reads === at) await act()
  }
  const once =
    <A extends unknown[], T>(read: (...args: A) => Promise<T>, streamOf?: (...args: A) => string | undefined) =>
    async (...args: A): Promise<T> => {
      if (counts(streamOf?.(...args))) await step()
      return read(...args)
    }
  async function* pages<T extends readonly ReadRecord[] | 'caught-up'>(
    source: AsyncIterable<T>,
    stream?: string,
  ): AsyncGenerator<T> {
    open += 1
    try {
      for await (const page of source) {
        const parts = page === 'caught-up' ? [page] : partsOf(page)
        for (const part of parts) {
          if (counts(stream)) await step()
          yield part as T
        }
      }
    } finally {
      open -= 1
    }
  }
  const changes = {
    readStream: (...args: Parameters<EventStore['readStream']>) => pages(store.readStream(...args), args[0]),
    readAll: (...args: Parameters<EventStore['readAll']>) => pages(store.readAll(...args)),
    subscribe: (...args: Parameters<EventStore['subscribe']>) => pages(store.subscribe(...args)),
    head: once(store.head.bind(store), (stream) => stream),
    recordAt: once(store.recordAt.bind(store)),
    end: once(store.end.bind(store)),
    findRequest: once(store.findRequest.bind(store), (stream) => stream),
    breakAt: (n: number, does: () => void | Promise<void>): void => {
      reads = 0
      at = n
      act = does
    },
    get reads() {
      return reads
    },
    get open() {
      return open
    },
  }
  return wrapStore(store, changes)
}

function partsOf(records: readonly ReadRecord[]): readonly (readonly ReadRecord[])[] {
  const parts = []
  for (let from = 0; from < records.length; from += PAGE_RECORDS) parts.push(records.slice(from, from + PAGE_RECORDS))
  return parts
}
