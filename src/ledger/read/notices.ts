/** @module Notices to external systems about events of all tenants, as they become durable; the seal of each event is checked first. */

import type { Announced } from '../../../schemas/event-type.ts'
import { EVENTS, isRunEventType } from '../../../schemas/events.ts'
import type { Header } from '../../../schemas/header.ts'
import { type JsonObject, parseJson } from '../../../schemas/json.ts'
import type { Pace, WorkQueue } from '../../resources/work-queue.ts'
import { readHeader } from '../../signing/header-reader.ts'
import { type EventStore, type ReadRecord, readOne } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import { sealOf } from './record-seal.ts'
import { isStillStored, type SeenRecord, seenRecord } from './seen-record.ts'

/** Number of records that are examined before other work gets a turn. */
const PORTION = 64

/** An event that is announced and whose seal is valid. */
export interface Notice {
  readonly header: Header
  readonly data: JsonObject
  readonly announced: Announced
  /** Set if the body is in an archive that is elsewhere: `data` is empty then. */
  readonly isAway?: true
}

/** The notices of a portion of the store, and the last record read. */
export interface NoticePage {
  readonly notices: readonly Notice[]
  readonly upTo: SeenRecord
}

export interface Notices {
  /**
   * Yields pages from after a place (or from the start) to the end of the store and beyond, until the signal aborts. Nothing is buffered for a slow
   * reader.
   */
  follow(after: SeenRecord | undefined, signal: AbortSignal): AsyncGenerator<NoticePage | 'caught-up'>
  /** Undefined if the store has no event there, or one that is not announced, or one whose seal is invalid. */
  at(place: { readonly stream: string; readonly revision: number }): Promise<Notice | undefined>
  /** Whether the store still holds the record that was seen there; if not, it is a different store or an older copy. */
  knows(place: SeenRecord): Promise<boolean>
}

export interface NoticesDeps {
  readonly store: EventStore
  readonly sealer: Sealer
  readonly work?: WorkQueue | undefined
  /** Tenant name under which the work queue accounts for this reading. */
  readonly indexing: string
}

export function noticesOf({ store, sealer, work, indexing }: NoticesDeps): Notices {
  const noticeOf = (record: ReadRecord): Notice | undefined => announcedIn(sealer, record)
  return {
    follow: (after, signal) => {
      const pace = work?.begin({ tenant: indexing, caller: 'notices' })
      return followed(store.subscribe({ after: after?.position }, signal), noticeOf, pace)
    },
    at: async (place) => {
      const record = await readOne(store, place)
      return record && noticeOf(record)
    },
    knows: (place) => isStillStored(store, place),
  }
}

async function* followed(
  pages: ReturnType<EventStore['subscribe']>,
  noticeOf: (record: ReadRecord) => Notice | undefined,
  pace: Pace | undefined,
): AsyncGenerator<NoticePage | 'caught-up'> {
  try {
    for await (const page of pages) {
      if (page === 'caught-up') {
        yield page
        continue
      }
      for (let from = 0; from < page.length; from += PORTION) {
        await pace?.turn()
        const portion = page.slice(from, from + PORTION)
        const last = portion.at(-1) as ReadRecord
        yield { notices: portion.flatMap((record) => noticeOf(record) ?? []), upTo: seenRecord(last) }
      }
    }
  } finally {
    pace?.leave()
  }
}

/** The seal is checked last, because most events are not announced. */
function announcedIn(sealer: Sealer, record: ReadRecord): Notice | undefined {
  const read = readHeader(record.header)
  if (!read.ok || !isRunEventType(read.header.type)) return undefined
  const { announced } = EVENTS[read.header.type]
  if (announced === undefined || sealOf(sealer, record) === 'invalid') return undefined
  const notice = { header: read.header, announced }
  if (record.archive?.exists === false) return { ...notice, data: {}, isAway: true }
  return { ...notice, data: parseJson(record.data) as JsonObject }
}
