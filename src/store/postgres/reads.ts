/** @module Reads: streams by revision, and all events by position up to where no new event can appear any more. */
import { setTimeout as sleep } from 'node:timers/promises'
import { parsePosition } from '../decimal-position.ts'
import {
  NO_STREAM,
  type Position,
  type ReadAllOptions,
  type ReadRecord,
  type ReadStreamOptions,
  type RecordPages,
} from '../event-store.ts'
import type { ScanPage } from '../follow.ts'
import { GROUP_SIZE } from './schema.ts'
import { type Row, read, type Sessions } from './sessions.ts'

const PAGE_RECORDS = 256
const PAGE_BYTES = 1024 * 1024
const COLUMNS = 'position, stream, revision, header, salt, data, request'
const MAX_REVISION = Number.MAX_SAFE_INTEGER
const PAUSE_MAX_MS = 20

export async function readHead(sessions: Sessions, stream: string): Promise<number> {
  const [row] = await read(sessions, `SELECT max(revision) AS head FROM ${table(sessions)} WHERE stream = $1`, [stream])
  return row?.head == null ? NO_STREAM : Number(row.head)
}

export async function* readStreamPages(
  sessions: Sessions,
  stream: string,
  options: ReadStreamOptions = {},
): RecordPages {
  const { from = 0, to = MAX_REVISION, direction = 'forwards' } = options
  let [first, last] = [from, to]
  while (first <= last) {
    const { records } = await page(sessions, {
      by: 'revision',
      where: 'stream = $1 AND revision >= $2 AND revision <= $3',
      values: [stream, first, last],
      order: direction === 'forwards' ? 'ASC' : 'DESC',
    })
    const end = records.at(-1)
    if (end === undefined) return
    yield records
    if (direction === 'forwards') first = end.revision + 1
    else last = end.revision - 1
  }
}

export interface ScanOptions extends ReadAllOptions {
  /** How long the scan waits for writes that began before it (`settledFor`). Absent: it does not wait, for a reader that is notified of later events. */
  readonly writersMs?: number
}

/** Pages with the position reached: a tenant's page may be empty although more follow. */
export async function* scanAll(sessions: Sessions, options: ScanOptions): AsyncGenerator<ScanPage> {
  const until = options.until === undefined ? MAX_REVISION : parsePosition(options.until)
  let after = options.after === undefined ? 0 : parsePosition(options.after)
  let settled = options.writersMs === undefined ? 0 : await settledFor(sessions, options.writersMs)
  while (after < until) {
    // Fetched at the start, and again only once this position is reached: all events up to it are present.
    if (after >= settled) settled = await settledPosition(sessions)
    const end = Math.min(until, settled)
    if (after >= end) return
    const tenant = options.tenant === undefined ? '' : ' AND tenant = $3'
    const { records, isFull } = await page(sessions, {
      by: 'position',
      where: `position > $1 AND position <= $2${tenant}`,
      values: options.tenant === undefined ? [after, end] : [after, end, options.tenant],
      order: 'ASC',
    })
    // The end of an empty group is not the position of a record, but a reader may continue from it.
    after = isFull ? Number(records.at(-1)?.position) : end
    yield { records, upTo: String(after) }
    // A follower is woken for every later commit, so another query would be wasted.
    if (!isFull && options.writersMs === undefined) return
  }
}

/** The last position of the last group up to which no new event can appear. */
export async function settledPosition(sessions: Sessions): Promise<number> {
  const [row] = await read(sessions, `SELECT ${sessions.target.schema}.settled_group() AS last`)
  return endOf(Number(row?.last))
}

/**
 * The settled position, once it covers every group drawn before the call: another process's write may still be in flight below one that was acknowledged
 * already. Returns the current value after `waitMs`, in case the connection of a writer hangs.
 */
export async function settledFor(sessions: Sessions, waitMs: number): Promise<number> {
  const deadlineMs = performance.now() + waitMs
  const { schema } = sessions.target
  const [row] = await read(
    sessions,
    `SELECT ${schema}.settled_group() AS last, CASE WHEN is_called THEN last_value ELSE 0 END AS drawn FROM ${schema}.append_groups`,
  )
  const drawn = endOf(Number(row?.drawn))
  let settled = endOf(Number(row?.last))
  for (
    let pauseMs = 1;
    settled < drawn && performance.now() < deadlineMs;
    pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)
  ) {
    await sleep(pauseMs)
    settled = await settledPosition(sessions)
  }
  return settled
}

const endOf = (group: number): number => (group + 1) * GROUP_SIZE - 1

/** Rows at positions outside all groups: a read of all events never reaches them, only a read of their stream does. */
export async function rowsOutside(sessions: Sessions): Promise<{ readonly rows: number; readonly first: string }> {
  const { schema } = sessions.target
  const [row] = await read(
    sessions,
    `SELECT count(*) AS rows, min(position) AS first FROM ${table(sessions)} WHERE position < 1
      OR position >= (SELECT (CASE WHEN is_called THEN last_value ELSE 0 END + 1) * ${GROUP_SIZE} FROM ${schema}.append_groups)`,
  )
  return { rows: Number(row?.rows), first: String(row?.first) }
}

export async function recordAt(sessions: Sessions, position: Position): Promise<ReadRecord | undefined> {
  const text = `SELECT ${COLUMNS} FROM ${table(sessions)} WHERE position = $1`
  const [row] = await read(sessions, text, [parsePosition(position)])
  return row === undefined ? undefined : recordOf(row)
}

export async function findEnd(sessions: Sessions, writersMs: number): Promise<Position | undefined> {
  const settled = await settledFor(sessions, writersMs)
  const text = `SELECT max(position) AS last FROM ${table(sessions)} WHERE position <= $1`
  const [row] = await read(sessions, text, [settled])
  return row?.last == null ? undefined : String(row.last)
}

export async function findRequest(sessions: Sessions, stream: string, requestId: string): Promise<number | undefined> {
  const text = `SELECT revision FROM ${table(sessions)} WHERE stream = $1 AND request = $2`
  const [row] = await read(sessions, text, [stream, requestId])
  return row === undefined ? undefined : Number(row.revision)
}

/** Those of the given streams that have no first event. */
export async function findLostBeginnings(sessions: Sessions, streams: readonly string[]): Promise<readonly string[]> {
  const text = `SELECT stream FROM unnest($1::text[]) AS known (stream)
    WHERE NOT EXISTS (SELECT FROM ${table(sessions)} AS first WHERE first.stream = known.stream AND first.revision = 0)`
  const rows = await read(sessions, text, [streams])
  return rows.map(({ stream }) => String(stream))
}

interface PageQuery {
  readonly by: 'position' | 'revision'
  readonly where: string
  readonly values: readonly unknown[]
  readonly order: 'ASC' | 'DESC'
}

interface Page {
  readonly records: readonly ReadRecord[]
  /** More records may follow; otherwise the range is complete. */
  readonly isFull: boolean
}

/** Reads one page, bounded by records and bytes; a record larger than a page is returned alone. No connection is held between pages. */
async function page(sessions: Sessions, { by, where, values, order }: PageQuery): Promise<Page> {
  const rows = await read(
    sessions,
    `WITH ahead AS (
      SELECT position, sum(bytes) OVER (ORDER BY ${by} ${order}) - bytes AS before
      FROM (SELECT position, revision, bytes FROM ${table(sessions)} WHERE ${where} ORDER BY ${by} ${order} LIMIT ${PAGE_RECORDS}) candidates
    )
    SELECT ${COLUMNS}, bytes FROM ${table(sessions)} JOIN ahead USING (position) WHERE before < ${PAGE_BYTES} ORDER BY ${by} ${order}`,
    values,
  )
  const bytes = rows.reduce((sum, row) => sum + Number(row.bytes), 0)
  return { records: rows.map(recordOf), isFull: rows.length >= PAGE_RECORDS || bytes >= PAGE_BYTES }
}

function recordOf(row: Row): ReadRecord {
  const { position, stream, revision, header, salt, data, request } = row
  return {
    position: String(position),
    stream: String(stream),
    revision: Number(revision),
    header: String(header),
    salt: Uint8Array.from(salt as Uint8Array),
    data: String(data),
    ...(typeof request === 'string' && { requestId: request }),
  }
}

function table({ target }: Sessions): string {
  return `${target.schema}.events`
}
