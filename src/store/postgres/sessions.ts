/** @module Connections to the server: pools for writing and reading, and the checks of the guarantees that every session needs. */
import pg from 'pg'
import { type Position, StoreOpenError, StoreUnavailableError } from '../event-store.ts'
import { GROUP_LIMITS } from './append-groups.ts'
import type { ConnectionTarget } from './connection-url.ts'
import { isAway, isPassing, passingReason, tlsRefusal } from './errors.ts'
import type { Timings } from './timings.ts'

export type Row = Readonly<Record<string, unknown>>

const READERS_MAX = 4
const OLDEST_SERVER = 14
const BIGINT_OID = 20
const UNAVAILABLE_RETRY_MS = 500

/** Positions and revisions stay below 2^53, so they are read as numbers. */
const types = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === BIGINT_OID ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

export interface Sessions {
  readonly target: ConnectionTarget
  /** As many connections as there are groups in flight. */
  readonly writer: pg.Pool
  readonly readers: pg.Pool
  /** Sets the listener for reads that got no answer; there is only one. */
  onUnanswered(listener: () => void): void
  unanswered(): void
  /** Sets what the server must hold, once it is known: a new connection to a server that lacks it is reported. There is only one holder. */
  holdTo(held: Held): void
  /** Undefined before anything was acknowledged. */
  lastKnown(): LastKnown | undefined
  /** Reports that the server lacks an event that it must hold. */
  lacks(known: LastKnown): void
}

export interface LastKnown {
  readonly position: Position
  /** Id of the event at that position; its header contains the id. */
  readonly id: string
}

interface Held {
  readonly last: () => LastKnown | undefined
  readonly onLack: (known: LastKnown) => void
}

export function openSessions(target: ConnectionTarget, { callMs, readMs }: Timings): Sessions {
  let held: Held = { last: () => undefined, onLack: ignored }
  const verify: pg.PoolConfig['verify'] = (client, done) => {
    const known = held.last()
    if (known === undefined) return done()
    checkHolds(client, target, known).then(
      (holds) => {
        if (!holds) held.onLack(known)
        done()
      },
      (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
    )
  }
  const pool = (max: number, query_timeout: number): pg.Pool => {
    const made = new pg.Pool({ ...target.config, types, max, query_timeout, idleTimeoutMillis: 60_000, verify })
    // A new query replaces an idle connection that the server closed; without a listener the error would end the process.
    made.on('error', ignored)
    // The same for a connection in use: its query gets the error as well.
    made.on('connect', (client) => client.on('error', ignored))
    return made
  }
  let tell = ignored
  return {
    target,
    writer: pool(GROUP_LIMITS.groupsAtOnce, callMs),
    readers: pool(READERS_MAX, readMs),
    onUnanswered: (listener) => {
      tell = listener
    },
    unanswered: () => tell(),
    holdTo: (holder) => {
      held = holder
    },
    lastKnown: () => held.last(),
    lacks: (known) => held.onLack(known),
  }
}

/** Whether a server holds a known event. A standby that has not replicated the event yet must not be read from: throws the error of a read-only server. */
async function checkHolds(
  client: Pick<pg.PoolClient, 'query'>,
  { schema }: ConnectionTarget,
  { position, id }: LastKnown,
): Promise<boolean> {
  const { rows } = await client.query<Row>(
    `SELECT pg_is_in_recovery() AS standby, EXISTS (${knownRow(schema, '$1', '$2')}) AS holds`,
    [position, id],
  )
  const [row = {}] = rows
  if (row.holds === true || row.standby !== true) return row.holds === true
  throw Object.assign(new Error('the server is a standby that lags'), { code: READ_ONLY })
}

/** Query for the row of a known event, by its position and its id. */
export function knownRow(schema: string, position: string, id: string): string {
  return `SELECT position FROM ${schema}.events WHERE position = ${position}::bigint AND strpos(header, ${id}::text) > 0`
}

/** SQLSTATE of a condition that may pass. */
const READ_ONLY = '25006'

const ignored = (): void => undefined

export async function closeSessions({ writer, readers }: Sessions): Promise<void> {
  await Promise.allSettled([writer.end(), readers.end()])
}

/** A client outside the pools; its queries reject after `callMs`. */
export function newClient({ target }: Sessions, callMs?: number): pg.Client {
  const client = new pg.Client({ ...target.config, types, ...(callMs !== undefined && { query_timeout: callMs }) })
  client.on('error', ignored)
  return client
}

/** Runs a read-only query. Throws `StoreUnavailableError` if the server does not answer. */
export async function read(sessions: Sessions, text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
  try {
    const { rows } = await sessions.readers.query<Row>(text, [...values])
    return rows
  } catch (error) {
    if (!isPassing(error)) throw error
    if (isAway(error)) sessions.unanswered()
    const message = passingReason(error)
    throw new StoreUnavailableError(message, UNAVAILABLE_RETRY_MS, { cause: error })
  }
}

/**
 * Refuses a server that cannot keep what it acknowledges. Throws `StoreOpenError` (`store-unsupported`, and `store-unreadable` for a certificate that is
 * not accepted), and `StoreUnavailableError` if it does not answer or is currently a standby.
 */
export async function checkServer(sessions: Sessions): Promise<void> {
  const [row = {}] = await firstRead(
    sessions,
    `SELECT current_setting('server_version_num')::int / 10000 AS version, current_setting('server_encoding') AS encoding,
      current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes, pg_is_in_recovery() AS standby`,
  )
  const { shown } = sessions.target
  const refuse = (reason: string): StoreOpenError => new StoreOpenError('store-unsupported', `${shown}: ${reason}`)
  if (Number(row.version) < OLDEST_SERVER)
    throw refuse(`PostgreSQL ${row.version} is too old, ${OLDEST_SERVER} is the oldest that is supported`)
  if (row.encoding !== 'UTF8') throw refuse(`the database is encoded in ${row.encoding}: make one with ENCODING 'UTF8'`)
  if (row.fsync !== 'on') throw refuse('fsync is off on the server: a crash would lose acknowledged events. Turn it on')
  if (row.full_page_writes !== 'on')
    throw refuse('full_page_writes is off on the server: a crash could tear pages. Turn it on')
  if (row.standby === true) {
    throw new StoreUnavailableError(
      'the server is a standby: connect to the primary, or wait for its promotion',
      UNAVAILABLE_RETRY_MS,
    )
  }
}

async function firstRead(sessions: Sessions, text: string): Promise<readonly Row[]> {
  try {
    return await read(sessions, text)
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined
    const refusal = tlsRefusal(cause)
    if (refusal === undefined) throw error
    throw new StoreOpenError('store-unreadable', `${sessions.target.shown}: ${refusal}`, { cause })
  }
}
