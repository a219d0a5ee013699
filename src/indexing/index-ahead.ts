/**
 * @module A thread that reads, parses and takes apart what the index is to hold, ahead of the one that writes it. It knows nothing of the index, and what it does
 * not hand over is read by the other one: its end at any moment costs time, and no event.
 */
import type { PageColumns } from '../ledger/audit/page-columns.ts'
import { pageOfColumns } from '../ledger/audit/page-columns.ts'
import type { PageRange, PageToIndex } from '../ledger/audit/page-to-index.ts'
import type { Position } from '../store/event-store.ts'
import type { NoCalls } from '../workers/peer.ts'
import { WorkerThread } from '../workers/worker-thread.ts'

/** Pages that are read and not yet taken: some 3 MB, 12 MiB at most; with fewer it would wait while others are being written. */
const PAGES_AHEAD = 12
/** A shorter way is done by the time that a thread has started. */
const EVENTS_MIN = 20_000
const END_MS = 250
/** What it makes is handed over at once; with more for young objects it would keep garbage for as long. */
const HEAP = { bytes: 192 * 1024 * 1024, youngBytes: 16 * 1024 * 1024 }

/** What the thread starts with, beside where its store lies. */
export interface AheadRange {
  readonly after: Position | undefined
  readonly until: Position
}

/** What the thread can be asked: each call gives the next page, and undefined once there is none. */
export interface AheadCalls {
  readonly next: () => PageColumns | undefined
}

export interface IndexAheadOptions {
  /** The thread's program. */
  readonly file: URL
  /** What it needs beside the range. */
  readonly places: object
  /** Why the rest of a range is read by whoever asked. */
  readonly onLost: (why: string) => void
  /** For tests. Default 20,000. */
  readonly eventsMin?: number
}

/** The first pages of a range, in their order and without a gap: none where the way is short, and as far as the thread comes before it ends. */
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
