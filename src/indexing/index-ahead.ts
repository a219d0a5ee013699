/**
 * @module A thread that reads, parses and splits into columns the pages that the index needs, ahead of the thread that writes the index. It does not access
 * the index, and the indexing thread reads every page that it does not deliver: its end at any moment costs time, but loses no event.
 */
import type { PageColumns } from '../ledger/audit/page-columns.ts'
import { pageOfColumns } from '../ledger/audit/page-columns.ts'
import type { PageRange, PageToIndex } from '../ledger/audit/page-to-index.ts'
import type { Position } from '../store/event-store.ts'
import type { NoCalls } from '../workers/peer.ts'
import { WorkerThread } from '../workers/worker-thread.ts'

/** Pages that are read ahead: about 3 MB, 12 MiB at most; with fewer, this thread would wait while pages are being written. */
const PAGES_AHEAD = 12
/** A shorter range is indexed before a thread has started. */
const EVENTS_MIN = 20_000
const END_MS = 250
/** Pages are handed over at once, so a larger young generation would only keep garbage for longer. */
const HEAP = { bytes: 192 * 1024 * 1024, youngBytes: 16 * 1024 * 1024 }

/** Data that the thread starts with, in addition to the location of its store. */
export interface AheadRange {
  readonly after: Position | undefined
  readonly until: Position
}

/** Calls to the thread: each returns the next page, or undefined after the last one. */
export interface AheadCalls {
  readonly next: () => PageColumns | undefined
}

export interface IndexAheadOptions {
  /** Program of the thread. */
  readonly file: URL
  /** Start data of the thread, in addition to the range. */
  readonly places: object
  /** Called with the reason when the thread ends early and the caller has to read the rest of the range. */
  readonly onLost: (why: string) => void
  /** For tests. Default 20,000. */
  readonly eventsMin?: number
}

/** The first pages of a range, in order and without a gap: none for a short range, otherwise as many as the thread delivers before it ends. */
export async function* indexAhead(
  { file, places, onLost, eventsMin = EVENTS_MIN }: IndexAheadOptions,
  range: PageRange,
): AsyncGenerator<PageToIndex, void> {
  if (Number(range.until) - Number(range.after ?? 0) < eventsMin) return
  const worker = new WorkerThread<AheadCalls, NoCalls>({
    ...{ program: file, workerData: { ...places, range }, name: 'index-ahead', heap: HEAP, handlers: {} },
    lost: (why) => why,
  })
  const asked: Promise<{ readonly page: PageColumns | undefined } | { readonly lost: string }>[] = []
  const ask = (): void => {
    const next = worker.ask('next', [])
    asked.push(
      next.then(
        (page) => ({ page }),
        ({ message }: Error) => ({ lost: message }),
      ),
    )
  }
  for (let ahead = 0; ahead < PAGES_AHEAD; ahead += 1) ask()
  try {
    for (;;) {
      const next = await asked.shift()
      if (next === undefined) return
      if ('lost' in next) return onLost(next.lost)
      if (next.page === undefined) return
      ask()
      yield pageOfColumns(next.page)
    }
  } finally {
    await worker.end('the index has what it needs', END_MS)
  }
}
