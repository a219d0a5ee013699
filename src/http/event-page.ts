/** @module Takes one page of events from a stream of pages: filtered, and bounded in items, bytes and events examined. */
import type { EventFilter } from '../ledger/ledger.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import type { Position } from '../store/event-store.ts'

/** Maximum size of a page, in characters: 500 events may hold half a megabyte each. */
const PAGE_MAX_CHARS = 2 * 1024 * 1024
/** Maximum number of events that one request examines for a rare filter; the cursor continues from there. */
const LOOK_MAX = 10_000

export interface PageLimits {
  readonly limit: number
  readonly filter: EventFilter
  /** Whether a position lies beyond the pinned end of the listing. */
  readonly isBeyond: (position: Position) => boolean
}

export interface EventPage {
  readonly events: readonly LedgerEvent[]
  /** The last event examined, if there may be more after it. */
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
