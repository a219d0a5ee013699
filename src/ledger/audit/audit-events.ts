/** @module Reads the events of index rows from the store, checks their seals, and renders them with a link to their proof. */
import { eventDetail } from '../../../projections/event-detail.ts'
import { type Phrases, snippetOf } from '../../../projections/search-text.ts'
import type { AuditRow } from '../../../schemas/audit-fields.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { allEnded } from '../../resources/all-ended.ts'
import type { Pace } from '../../resources/work-queue.ts'
import type { EventStore, ReadRecord } from '../../store/event-store.ts'
import { pacedPages } from '../../store/paced-pages.ts'
import type { Sealer } from '../identity/sealer.ts'
import { ledgerEvent } from '../read/parse-record.ts'
import { sealOf } from '../read/record-seal.ts'
import { DamagedIndexError, type MatchedEvent } from './audit-reads.ts'

/** Maximum number of concurrent reads. */
const READS_AT_ONCE = 16

export interface EventDeps {
  readonly store: Pick<EventStore, 'readStream'>
  /** Absent if there are no keys: rows then have no `seal` member. */
  readonly sealer?: Sealer | undefined
}

export type AuditEvent = MatchedEvent & {
  readonly row: AuditRow
  /** Whether the MAC and the digest of the body match. The links between events are checked by `verify` and `replay`. */
  readonly seal?: 'valid' | 'invalid'
}

interface RowRange {
  readonly stream: string
  readonly rows: AuditRow[]
}

/** The events of rows, in the same order. Throws `DamagedIndexError` if the store has no event, or a different one, in the place of a row. */
export async function eventsOf(
  deps: EventDeps,
  rows: readonly AuditRow[],
  pace: Pace | undefined,
): Promise<readonly AuditEvent[]> {
  const ranges = neighbours(rows)
  const found: AuditEvent[] = []
  for (let from = 0; from < ranges.length; from += READS_AT_ONCE) {
    const reads = ranges.slice(from, from + READS_AT_ONCE).map((range) => readRange(deps, range, pace))
    found.push(...(await allEnded(reads)).flat())
  }
  return found
}

/** Groups rows of one stream with consecutive revisions, which are read at once. */
function neighbours(rows: readonly AuditRow[]): readonly RowRange[] {
  const ranges: RowRange[] = []
  for (const row of rows) {
    const range = ranges.at(-1)
    const last = range?.rows.at(-1)
    if (range !== undefined && last?.stream === row.stream && last.revision + 1 === row.revision) range.rows.push(row)
    else ranges.push({ stream: row.stream, rows: [row] })
  }
  return ranges
}

async function readRange(
  { store, sealer }: EventDeps,
  { stream, rows }: RowRange,
  pace: Pace | undefined,
): Promise<readonly AuditEvent[]> {
  const [first, last] = [rows[0]?.revision ?? 0, rows.at(-1)?.revision ?? 0]
  const records = new Map<number, ReadRecord>()
  for await (const page of pacedPages(store.readStream(stream, { from: first, to: last }), pace)) {
    for (const record of page) records.set(record.revision, record)
  }
  return rows.map((row) => {
    const record = records.get(row.revision)
    const event = record && ledgerEvent(record)
    if (record === undefined || event?.header.id !== row.id) throw new DamagedIndexError(stream, row.revision)
    const { position, header, data, digest, headerText, texts } = event
    const seal = sealer && { seal: sealOf(sealer, record) }
    return { position, header, data, digest, headerText, texts, row, leaf: row.leaf, ...seal }
  })
}

/** The event as a list item; `phrases` adds a snippet around the matched words. */
export function eventBody(found: AuditEvent, phrases?: Phrases): JsonObject {
  const { row, header, data, digest, seal } = found
  const { tenant: _, stream, clocked: __, id, position: ___, principal: ____, marks, ...facts } = row
  const snippet = phrases === undefined ? undefined : snippetOf(phrases, data)
  return {
    ...facts,
    ...(marks.length > 0 && { marks }),
    ...(row.run === undefined && { stream }),
    event: id,
    ...(header.principal !== undefined && { principal: header.principal }),
    ...(header.via !== undefined && { via: header.via }),
    ...(header.clock !== undefined && { clock: header.clock }),
    digest,
    ...(seal !== undefined && { seal }),
    ...(snippet !== undefined && { snippet: { ...snippet } }),
    detail: eventDetail(data),
    links: linksOf(id),
  }
}

export function linksOf(eventId: string): JsonObject {
  return { event: `/v1/audit/events/${eventId}`, proof: `/v1/log/events/${eventId}/proof.tlog-proof` }
}
