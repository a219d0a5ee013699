/**
 * @module A thread that reads, parses and takes apart what the index is to hold, ahead of the one that writes it. It knows nothing of the index, and what it does
 * not hand over is read by the other one: its end at any moment costs time, and no event.
 */
import type { PageColumns } from '../ledger/audit/page-columns.ts'
import { pageOfColumns } from '../ledger/audit/page-columns.ts'
import type { PageRange, PageToIndex } from '../ledger/audit/page-to-index.ts'
import { endWorker, startWorker } from '../resources/worker-life.ts'
import type { Position } from '../store/event-store.ts'

/** Pages that are read and not yet taken: some 3 MB, 12 MiB at most; with fewer it would wait while others are being written. */
export const PAGES_AHEAD = 12
/** A shorter way is done by the time that a thread has started. */
const EVENTS_MIN = 20_000
const END_MS = 250
const HEAP_BYTES = 192 * 1024 * 1024
/** What it makes is handed over at once; with more it would keep garbage for as long. */
const YOUNG_BYTES = 16 * 1024 * 1024

/** What the thread starts with, beside where its store lies. */
export interface AheadRange {
  readonly after: Position | undefined
  readonly until: Position
}

export type ToAhead = { readonly kind: 'more' } | { readonly kind: 'end' }

export type FromAhead =
  | { readonly kind: 'page'; readonly page: PageColumns }
  | { readonly kind: 'over' }
  | { readonly kind: 'open-failed'; readonly message: string }

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
  const arrived: Exclude<FromAhead, { readonly kind: 'open-failed' }>[] = []
  let lost: string | undefined
  let wake = (): void => undefined
  const worker = startWorker<FromAhead>({
    ...{ file, workerData: { ...places, range }, name: 'index-ahead', heapBytes: HEAP_BYTES, youngBytes: YOUNG_BYTES },
    receive: (message) => {
      arrived.push(message)
      wake()
    },
    ended: (why) => {
      lost = why
      wake()
    },
  })
  // Whoever writes the index waits for nothing else.
  worker.ref()
  try {
    for (;;) {
      const message = arrived.shift()
      if (message?.kind === 'over') return
      if (message !== undefined) {
        worker.postMessage({ kind: 'more' } satisfies ToAhead)
        yield pageOfColumns(message.page)
      } else if (lost !== undefined) return onLost(lost)
      else
        await new Promise<void>((resolve) => {
          wake = resolve
        })
    }
  } finally {
    await endWorker(worker, () => worker.postMessage({ kind: 'end' } satisfies ToAhead), END_MS)
  }
}
