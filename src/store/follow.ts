/** @module Catch-up, then live, over any store that can be read from a position and signals when it has grown. */
import {
  type EventStore,
  type Position,
  type ReadAllOptions,
  type ReadRecord,
  StoreUnavailableError,
} from './event-store.ts'
import type { Wakeups } from './wakeups.ts'

/** One step of a read: the records found, and the position reached. A filtered read advances even if it finds nothing. */
export interface ScanPage {
  readonly records: readonly ReadRecord[]
  readonly upTo: Position
}

export interface FollowThroughOptions {
  readonly scan: (options: ReadAllOptions) => AsyncIterable<ScanPage>
  readonly wakeups: Wakeups
  /** Resolves when a server that did not answer is worth another attempt, or when the signal aborts. */
  readonly whenBack: (signal: AbortSignal) => Promise<unknown>
}

/** `follow` for a store on a server: during an outage a subscriber waits, then continues from its last position. */
export function followThroughOutages(
  { scan, wakeups, whenBack }: FollowThroughOptions,
  options: Omit<ReadAllOptions, 'until'>,
  signal: AbortSignal,
): ReturnType<EventStore['subscribe']> {
  async function* patient(from: Position | undefined): AsyncGenerator<ScanPage> {
    let after = from
    while (!signal.aborted && !wakeups.closed) {
      try {
        for await (const page of scan({ ...options, after })) {
          after = page.upTo
          yield page
        }
        return
      } catch (error) {
        if (wakeups.closed || signal.aborted) return
        if (!(error instanceof StoreUnavailableError)) throw error
        await whenBack(signal)
      }
    }
  }
  return follow({ scan: patient, wakeups, after: options.after, signal })
}

export interface FollowOptions {
  readonly scan: (after: Position | undefined) => AsyncIterable<ScanPage>
  readonly wakeups: Wakeups
  readonly after: Position | undefined
  readonly signal: AbortSignal
}

/** Ends when the signal aborts or the store closes. Holds one page at a time, and none while it waits. */
export async function* follow(options: FollowOptions): AsyncGenerator<readonly ReadRecord[] | 'caught-up', void> {
  const { scan, wakeups, signal } = options
  let position = options.after
  let announced = false

  while (!signal.aborted && !wakeups.closed) {
    const seen = wakeups.count
    for await (const { records, upTo } of scan(position)) {
      if (signal.aborted) return
      position = upTo
      if (records.length === 0) continue
      announced = false
      yield records
      if (signal.aborted) return
    }
    if (!announced) yield 'caught-up'
    announced = true
    await wakeups.next(seen, signal)
  }
}
