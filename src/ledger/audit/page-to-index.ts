/**
 * @module The fields that the audit index takes from a record on its own, which any thread can compute; fields from earlier rows are added where the
 * index is written.
 */
import { chargedPart, isCharging } from '../../../projections/charges.ts'
import { callOf, type EventFacts, eventFacts } from '../../../projections/event-facts.ts'
import { indexedText } from '../../../projections/search-text.ts'
import { isRunEventType } from '../../../schemas/events.ts'
import type { Header } from '../../../schemas/header.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { parseStream } from '../../../schemas/names.ts'
import { requireBodies } from '../../store/archive-missing-error.ts'
import type { Position, ReadRecord } from '../../store/event-store.ts'
import { decodeRecord, isOfItsType } from '../read/parse-record.ts'
import { type SeenRecord, seenRecord } from '../read/seen-record.ts'

export interface IndexFields {
  readonly id: string
  readonly clocked: boolean
  /** The header names another place than the one where the record is stored. */
  readonly misplaced: boolean
  readonly facts: EventFacts
  /** Id of the call whose claim has more facts about this event. */
  readonly call: string | undefined
  /** Present if the event type changes the charges. */
  readonly charged: JsonObject | undefined
  /** Words to search for; empty if there are none. */
  readonly text: string
}

export interface RecordToIndex {
  readonly stream: string
  readonly revision: number
  readonly position: Position
  /** Present at least for the first record of a stream, whose seal shows to whom the stream belongs. */
  readonly record: ReadRecord | undefined
  /** Throws `TypeError` or `RangeError` if a record written by somebody else has members of other types. */
  readonly said: () => IndexFields
}

export interface PageToIndex {
  readonly records: readonly RecordToIndex[]
  /** The last record of the page. */
  readonly seen: SeenRecord
}

/** The range after `after`, up to `until`. */
export interface PageRange {
  readonly after: Position | undefined
  readonly until: Position
}

/** Undefined for a page without records. `isHeldToSchema`: bodies that do not match the schema of their type are treated as empty. */
export function pageToIndex(
  page: readonly ReadRecord[],
  { isHeldToSchema = false }: { readonly isHeldToSchema?: boolean } = {},
): PageToIndex | undefined {
  const last = page.at(-1)
  if (last === undefined) return undefined
  requireBodies(page)
  const records = page.map((record) => {
    const { stream, revision, position } = record
    return { stream, revision, position, record, said: () => eventSaid(record, isHeldToSchema) }
  })
  return { records, seen: seenRecord(last) }
}

/** The id of a run can be searched for with the event that begins the run, not with each of its events. */
export function runBegunBy({ type, stream }: Pick<Header, 'type' | 'stream'>): string | undefined {
  return type === 'RunStarted' ? parseStream(stream)?.runId : undefined
}

/** A record whose text is damaged has a row as well; otherwise every later leaf would have a wrong number. */
export function eventSaid(record: ReadRecord, isHeldToSchema = false): IndexFields {
  const stated = decodeRecord(record)
  const { header } = stated
  const { type, id, clock } = header
  const data = isHeldToSchema && !isOfItsType(type, stated.data) ? {} : stated.data
  const isRun = isRunEventType(type)
  return {
    id,
    clocked: clock !== undefined,
    misplaced: header.stream !== record.stream || header.revision !== record.revision,
    facts: eventFacts(header, data),
    call: callOf(type, data),
    charged: isRun && isCharging(type) ? chargedPart(data) : undefined,
    text: isRun && type !== 'SnapshotTaken' ? indexedText(data, runBegunBy(header)) : '',
  }
}
