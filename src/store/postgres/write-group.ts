/**
 * @module Writes one group of appends as one statement, and handles a call without a result: retries the appends one by one if another writer interfered,
 * and determines the outcome if the answer was lost.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Append, AppendResult, StoreStatus } from '../event-store.ts'
import { bigintArray, bytesArray, integerArray, textArray } from './binary-array.ts'
import { unavailable, type WriteFailure, writeFailure } from './errors.ts'
import type { GroupNotes } from './group-notes.ts'
import { refusesAll } from './refusals.ts'
import { GROUP_SIZE } from './schema.ts'
import { knownRow, type Row, type Sessions } from './sessions.ts'
import type { Timings } from './timings.ts'

/** Attempts of a single append while other writers interfere; each of them has made progress meanwhile. */
const ALONE_TRIES = 8
const SETTLE_AGAIN_MS = 100

type Outcome = { readonly kind: 'results'; readonly results: readonly AppendResult[] } | WriteFailure

export interface WriteDeps {
  readonly sessions: Sessions
  readonly timings: Timings
  readonly notes: GroupNotes
  /** Called with the reason if the server did not answer. */
  readonly onAway: (reason: string) => void
  /** Called if the server refused for a reason that applies to every append. */
  readonly onRefusing: (status: StoreStatus) => void
}

/** The result of each append, in order. Never throws. */
export async function writeGroup(deps: WriteDeps, appends: readonly Append[]): Promise<readonly AppendResult[]> {
  const outcome = await send(deps, appends)
  switch (outcome.kind) {
    case 'results':
      return outcome.results
    case 'refused':
      return appends.map(() => outcome.result)
    case 'contended':
      return inTurn(appends, (append) => writeAlone(deps, append))
    case 'lost':
      return inTurn(appends, (append) => settle(deps, append, outcome.detail))
  }
}

async function inTurn(
  appends: readonly Append[],
  write: (append: Append) => Promise<AppendResult>,
): Promise<readonly AppendResult[]> {
  const results: AppendResult[] = []
  for (const append of appends) results.push(await write(append))
  return results
}

async function writeAlone(deps: WriteDeps, append: Append): Promise<AppendResult> {
  for (let tries = 0; tries < ALONE_TRIES; tries += 1) {
    const outcome = await send(deps, [append])
    if (outcome.kind === 'results') return outcome.results[0] ?? unavailable('no answer')
    if (outcome.kind === 'refused') return outcome.result
    if (outcome.kind === 'lost') return settle(deps, append, outcome.detail)
  }
  return unavailable('other writers were faster each time: try again')
}

/**
 * Determines the outcome of an append whose answer was lost. The identical records are sent again: if the lost statement is still running, the unique
 * constraint makes the new one wait for its end, so the answer cannot be outdated by it.
 */
async function settle(deps: WriteDeps, append: Append, detail: string): Promise<AppendResult> {
  const deadlineMs = performance.now() + deps.timings.settleMs
  while (performance.now() < deadlineMs) {
    const outcome = await send(deps, [append])
    const [result] = outcome.kind === 'results' ? outcome.results : []
    if (result?.kind === 'appended') return result
    const found = result === undefined ? 'unknown' : await findWritten(deps, append)
    if (found !== 'unknown') return found ?? result ?? unavailable(detail)
    await sleep(SETTLE_AGAIN_MS)
  }
  deps.onAway(detail)
  return { kind: 'unknown', detail }
}

/** The append's own result if exactly its records are at its revisions; undefined if other records or none are. */
async function findWritten(
  { sessions, notes }: WriteDeps,
  append: Append,
): Promise<AppendResult | undefined | 'unknown'> {
  const { stream, expectedRevision, records } = append
  const last = expectedRevision + records.length
  try {
    const { rows } = await sessions.writer.query<Row>(
      `SELECT position, header FROM ${sessions.target.schema}.events WHERE stream = $1 AND revision > $2 AND revision <= $3 ORDER BY revision`,
      [stream, expectedRevision, last],
    )
    const isOwn = rows.length === records.length && rows.every((row, index) => row.header === records[index]?.header)
    if (!isOwn) return undefined
    const found = { kind: 'appended', revision: last, position: String(rows.at(-1)?.position) } as const
    notes.settle([append], [found])
    return found
  } catch {
    return 'unknown'
  }
}

async function send({ sessions, notes, onAway, onRefusing }: WriteDeps, appends: readonly Append[]): Promise<Outcome> {
  const { writer, target } = sessions
  let client: pg.PoolClient | undefined
  try {
    client = await writer.connect()
    const { values, draft } = await notes.columns(client)
    const known = sessions.lastKnown()
    const sent = [...parameters(appends), ...values]
    const { rows } = await client.query<Row>(
      known === undefined ? appendCall(target.schema) : appendBehind(target.schema),
      known === undefined ? sent : [...sent, known.position, known.id],
    )
    client.release()
    if (rows.length === 0 && known !== undefined) {
      sessions.lacks(known)
      return { kind: 'refused', result: unavailable('the server no longer holds what it acknowledged') }
    }
    const results = resultsOf(appends, rows)
    if (results.some(({ kind }) => kind === 'appended')) notes.written(draft)
    notes.settle(appends, results)
    return { kind: 'results', results }
  } catch (error) {
    const failure = writeFailure(error, client !== undefined)
    // A connection whose statement timed out is still busy with that statement: it must not be reused.
    client?.release(failure.kind === 'lost' || !(error instanceof Error) || error)
    if (failure.kind === 'lost' || client === undefined)
      onAway(failure.kind === 'lost' ? failure.detail : String(error))
    const refusing = refusesAll(error)
    if (refusing === undefined) return failure
    onRefusing(refusing)
    return failure.kind === 'contended' ? { kind: 'refused', result: refusedBy(refusing) } : failure
  }
}

const COLUMNS = 'outcome, place, revision, request'

const ARGUMENTS = Array.from({ length: 13 }, (_, at) => `$${at + 1}`)

function appendCall(schema: string): string {
  return `SELECT ${COLUMNS} FROM ${schema}.append_group_noted(${ARGUMENTS.join(', ')})`
}

/**
 * The call that appends a group only if the server holds the last acknowledged event: on any other server nothing is written and no row is returned, because the
 * function is called for the row of that event, on which its first argument depends.
 */
function appendBehind(schema: string): string {
  return `SELECT ${COLUMNS} FROM (${knownRow(schema, '$14', '$15')}) known CROSS JOIN LATERAL
    ${schema}.append_group_noted(CASE WHEN known.position = $14::bigint THEN $1::text[] END, ${ARGUMENTS.slice(1).join(', ')})`
}

/** The result of an append to a store with this status. */
export function refusedBy({ state, detail = 'the server does not answer' }: StoreStatus): AppendResult {
  return state === 'full' ? { kind: 'full', detail } : unavailable(detail)
}

function parameters(appends: readonly Append[]): unknown[] {
  const places: number[] = []
  const streams: string[] = []
  const revisions: number[] = []
  const records = appends.flatMap((append, place) => {
    for (const index of append.records.keys()) {
      places.push(place + 1)
      streams.push(append.stream)
      revisions.push(append.expectedRevision + 1 + index)
    }
    return append.records
  })
  return [
    textArray(appends.map(({ stream }) => stream)),
    bigintArray(appends.map(({ expectedRevision }) => expectedRevision)),
    integerArray(places),
    textArray(streams),
    bigintArray(revisions),
    textArray(records.map(({ header }) => header)),
    bytesArray(records.map(({ salt }) => salt)),
    textArray(records.map(({ data }) => data)),
    textArray(records.map(({ requestId }) => requestId ?? null)),
  ]
}

/** The position of a record is its group and its place among all records that were sent. An append without a row was written. */
function resultsOf(appends: readonly Append[], rows: readonly Row[]): readonly AppendResult[] {
  const refused = new Map(rows.flatMap((row) => (row.outcome === 'appended' ? [] : [[Number(row.place), row]])))
  const written = rows.find(({ outcome }) => outcome === 'appended')
  const records = appends.reduce((sum, append, index) => sum + (refused.has(index + 1) ? 0 : append.records.length), 0)
  const isComplete = Number(written?.place) === records
  const group = Number(written?.revision)
  let sent = 0
  return appends.map((append, index): AppendResult => {
    sent += append.records.length
    const row = refused.get(index + 1)
    if (row !== undefined) return refusalOf(row)
    if (!isComplete) return { kind: 'unknown', detail: 'the server did not account for every record' }
    const revision = append.expectedRevision + append.records.length
    return { kind: 'appended', revision, position: String(group * GROUP_SIZE + sent - 1) }
  })
}

function refusalOf({ outcome, revision, request }: Row): AppendResult {
  if (outcome === 'conflict') return { kind: 'conflict', actual: Number(revision) }
  if (outcome === 'duplicate') {
    return { kind: 'duplicate-request', requestId: String(request), revision: Number(revision) }
  }
  return { kind: 'unknown', detail: 'the server gave no outcome' }
}
