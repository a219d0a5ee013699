/** @module What the auditors' index takes of records: all that one says by itself, which any thread may find out; what lies in the index already is added where it is written. */
import { chargedPart, isCharging } from '../../../projections/charges.ts'
import { callOf, type EventFacts, eventFacts } from '../../../projections/event-facts.ts'
import { indexedText } from '../../../projections/search-text.ts'
import { isRunEventType } from '../../../schemas/events.ts'
import type { Header } from '../../../schemas/header.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { parseStream } from '../../../schemas/names.ts'
import type { Position, ReadRecord } from '../../store/event-store.ts'
import { decodeRecord, isOfItsType } from '../read/parse-record.ts'
import { type SeenRecord, seenRecord } from '../read/seen-record.ts'

export interface IndexFields {
  readonly id: string
  readonly clocked: boolean
  readonly facts: EventFacts
  /** Id of the call whose claim says more of it. */
  readonly call: string | undefined
  /** Where its type changes the bill. */
  readonly charged: JsonObject | undefined
  /** Words to be found by; empty: none. */
  readonly text: string
}

export interface RecordToIndex {
  readonly stream: string
  readonly revision: number
  readonly position: Position
  /** Of the first one of a stream at least: its seal says whose the stream is. */
  readonly record: ReadRecord | undefined
  /** Throws `TypeError` or `RangeError` where the record of somebody who may write to the store has members of other types. */
  readonly said: () => IndexFields
}

export interface PageToIndex {
  readonly records: readonly RecordToIndex[]
  /** The last one. */
  readonly seen: SeenRecord
}

/** Behind `after`, up to `until`. */
export interface PageRange {
  readonly after: Position | undefined
  readonly until: Position
}

/** Undefined of a page without records. `isHeldToSchema`: what is not of its type says nothing. */
export function pageToIndex(
  page: readonly ReadRecord[],
  { isHeldToSchema = false }: { readonly isHeldToSchema?: boolean } = {},
): PageToIndex | undefined {
  const last = page.at(-1)
  if (last === undefined) return undefined
  const records = page.map((record) => {
    const { stream, revision, position } = record
    return { stream, revision, position, record, said: () => eventSaid(record, isHeldToSchema) }
  })
  return { records, seen: seenRecord(last) }
}

/** The id of a run is searched with the event that begins it, and not with each of its events. */
export function runBegunBy({ type, stream }: Pick<Header, 'type' | 'stream'>): string | undefined {
  return type === 'RunStarted' ? parseStream(stream)?.runId : undefined
}

/** A record whose text is damaged has its row all the same: else every later leaf would bear another's number. */
export function eventSaid(record: ReadRecord, isHeldToSchema = false): IndexFields {
  const stated = decodeRecord(record)
  const { header } = stated
  const { type, id, clock } = header
  const data = isHeldToSchema && !isOfItsType(type, stated.data) ? {} : stated.data
  const isRun = isRunEventType(type)
  return {
    id,
    clocked: clock !== undefined,
    facts: eventFacts(header, data),
    call: callOf(type, data),
    charged: isRun && isCharging(type) ? chargedPart(data) : undefined,
    text: isRun && type !== 'SnapshotTaken' ? indexedText(data, runBegunBy(header)) : '',
  }
}
