/**
 * @module One group of appends as one statement, and what becomes of it where the answer is no result: tried again append by append where
 * another writer was in the way, and found out where the answer was lost.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Append, AppendResult } from '../event-store.ts'
import { unavailable, type WriteFailure, writeFailure } from './errors.ts'
import { GROUP_SIZE } from './schema.ts'
import type { Row, Sessions } from './sessions.ts'
import type { Timings } from './timings.ts'

/** Tries of one append alone while other writers are in its way; each of them has made progress meanwhile. */
const ALONE_TRIES = 8
const SETTLE_AGAIN_MS = 100

type Outcome = { readonly kind: 'results'; readonly results: readonly AppendResult[] } | WriteFailure

export interface WriteDeps {
  readonly sessions: Sessions
  readonly timings: Timings
  /** Called where the server did not answer, with the reason. */
  readonly onAway: (reason: string) => void
}

/** Each append's result, in order. Never throws. */
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
  return unavailable('other writers are in the way')
}

/**
 * What became of an append whose answer was lost. The very same records are sent again: where the lost statement is still under way,
 * the unique constraint makes this one wait for its end, so the answer cannot be overtaken by it.
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

/** The append's own result where its records lie in their place, byte for byte; undefined where others do, or none. */
async function findWritten({ sessions }: WriteDeps, append: Append): Promise<AppendResult | undefined | 'unknown'> {
  const { stream, expectedRevision, records } = append
  const last = expectedRevision + records.length
  try {
    const { rows } = await sessions.writer.query<Row>(
      `SELECT position, header FROM ${sessions.target.schema}.events WHERE stream = $1 AND revision > $2 AND revision <= $3 ORDER BY revision`,
      [stream, expectedRevision, last],
    )
    const isOurs = rows.length === records.length && rows.every((row, index) => row.header === records[index]?.header)
    return isOurs ? { kind: 'appended', revision: last, position: String(rows.at(-1)?.position) } : undefined
  } catch {
    return 'unknown'
  }
}

async function send({ sessions, onAway }: WriteDeps, appends: readonly Append[]): Promise<Outcome> {
  const { writer, target } = sessions
  let client: pg.PoolClient | undefined
  try {
    client = await writer.connect()
    const { rows } = await client.query<Row>(
      `SELECT place, outcome, revision, request FROM ${target.schema}.append_events($1, $2, $3, $4, $5, $6, $7, $8)`,
      parameters(appends),
    )
    client.release()
    return { kind: 'results', results: resultsOf(appends, rows) }
  } catch (error) {
    const failure = writeFailure(error, client !== undefined)
    // A connection whose statement timed out is still busy with it: it must not be used again.
    client?.release(failure.kind === 'lost' || !(error instanceof Error) || error)
    if (failure.kind === 'lost' || client === undefined)
      onAway(failure.kind === 'lost' ? failure.detail : String(error))
    return failure
  }
}

function parameters(appends: readonly Append[]): unknown[] {
  const places: number[] = []
  const indexes: number[] = []
  const records = appends.flatMap((append, place) => {
    for (const index of append.records.keys()) {
      places.push(place + 1)
      indexes.push(index)
    }
    return append.records
  })
  return [
    appends.map(({ stream }) => stream),
    appends.map(({ expectedRevision }) => expectedRevision),
    places,
    indexes,
    records.map(({ header }) => header),
    records.map(({ salt }) => Buffer.from(salt)),
    records.map(({ data }) => data),
    records.map(({ requestId }) => requestId ?? null),
  ]
}

/** A record's position is its group and its place among all records that were sent. */
function resultsOf(appends: readonly Append[], rows: readonly Row[]): readonly AppendResult[] {
  const byPlace = new Map(rows.map((row) => [Number(row.place), row]))
  let sent = 0
  return appends.map((append, index): AppendResult => {
    sent += append.records.length
    const row = byPlace.get(index + 1)
    const value = Number(row?.revision)
    if (row?.outcome === 'conflict') return { kind: 'conflict', actual: value }
    if (row?.outcome === 'duplicate') {
      return { kind: 'duplicate-request', requestId: String(row.request), revision: value }
    }
    if (row?.outcome !== 'appended') return { kind: 'unknown', detail: 'the server gave no outcome' }
    const revision = append.expectedRevision + append.records.length
    return { kind: 'appended', revision, position: String(value * GROUP_SIZE + sent - 1) }
  })
}
