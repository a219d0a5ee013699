/** @module One page of events out of a stream of pages: filtered, and bounded in items, bytes and looking. */
import type { EventFilter } from '../ledger/ledger.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import type { Position } from '../store/event-store.ts'

/** A page is cut where its texts outgrow this: 500 events may hold half a megabyte each. */
const PAGE_MAX_CHARS = 2 * 1024 * 1024
/** A rare filter looks at so many events in one request; the cursor goes on from there. */
const LOOK_MAX = 10_000

export interface PageLimits {
  readonly limit: number
  readonly filter: EventFilter
  /** True where an event lies beyond the end that the listing is pinned to. */
  readonly isBeyond: (position: Position) => boolean
}

export interface EventPage {
  readonly events: readonly LedgerEvent[]
  /** The last event looked at, where there may be more after it. */
  readonly resume: LedgerEvent | undefined
}

export async function takePage(pages: AsyncIterable<readonly LedgerEvent[]>, limits: PageLimits): Promise<EventPage> {
  const events: LedgerEvent[] = []
  let chars = 0
  let looked = 0
  let last: LedgerEvent | undefined
  for await (const page of pages) {
    for (const event of page) {
      if (limits.isBeyond(event.position)) return { events, resume: undefined }
      if (events.length === limits.limit || chars > PAGE_MAX_CHARS || looked === LOOK_MAX)
        return { events, resume: last }
      looked += 1
      last = event
      if (!passes(event, limits.filter)) continue
      events.push(event)
      chars += event.texts.header.length + event.texts.data.length
    }
  }
  return { events, resume: undefined }
}

function passes({ header }: LedgerEvent, { types, actor }: EventFilter): boolean {
  return (types === undefined || types.includes(header.type)) && (actor === undefined || header.actor === actor)
}
