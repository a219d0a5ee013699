/**
 * @module Read-only access to a ledger on PostgreSQL, concurrent with the processes that serve it: for `verify`, `replay` and the like. A read throws
 * `StoreUnavailableError` if the server does not answer.
 */
import type { ReadRecord, StoreReader } from '../event-store.ts'
import { readHalfOf } from '../read-only-store.ts'
import { readConnectionUrl } from './connection-url.ts'
import { type NoteFault, type NoteScan, noteFaults } from './note-faults.ts'
import { PostgresStore } from './postgres-store.ts'
import { rowsOutside, scanAll } from './reads.ts'
import { checkSchema, checkVersion, type SchemaFault, schemaFaults } from './schema-check.ts'
import { checkServer, closeSessions, openSessions } from './sessions.ts'
import { DEFAULT_TIMINGS, type Timings } from './timings.ts'

export interface ReaderOptions {
  readonly url: string
  readonly timings?: Partial<Timings>
}

/** Throws `StoreOpenError` for a URL, a server or a schema that cannot be used. */
export async function openPostgresReader({ url, timings }: ReaderOptions): Promise<StoreReader> {
  const waits = { ...DEFAULT_TIMINGS, ...timings }
  const sessions = openSessions(readConnectionUrl(url), waits)
  try {
    await checkServer(sessions)
    await checkSchema(sessions)
  } catch (error) {
    await closeSessions(sessions)
    throw error
  }
  return readHalfOf(new PostgresStore(sessions, waits))
}

export interface ScanOptions extends ReaderOptions {
  /** Absent: the writers' notes are not checked. */
  readonly notes?: NoteScan | undefined
}

/** A record without its position, whose gaps prove nothing; stream, revision and request id are columns next to the header. */
export type ScannedRow = Omit<ReadRecord, 'position'> & { readonly hasColumns: true }

export interface PostgresFault {
  readonly fault:
    | SchemaFault
    | NoteFault
    | { readonly code: 'position-order' | 'key-missing'; readonly message: string }
}

export type PostgresScanPage = readonly (ScannedRow | PostgresFault)[]

/**
 * Yields every event for verification, in the store's order, then faults: rows at positions that were never assigned, objects of the schema that were
 * altered, and faults found by the notes. Throws `StoreOpenError` and `StoreUnavailableError`.
 */
export async function* scanPostgres({ url, timings, notes }: ScanOptions): AsyncGenerator<PostgresScanPage, void> {
  const waits = { ...DEFAULT_TIMINGS, ...timings }
  const sessions = openSessions(readConnectionUrl(url), waits)
  try {
    await checkVersion(sessions)
    for await (const { records } of scanAll(sessions, { writersMs: waits.writersMs })) {
      yield records.map(({ position: _, ...record }) => ({ ...record, hasColumns: true as const }))
    }
    const outside = await rowsOutside(sessions)
    const message = `${outside.rows} are at positions that were never assigned, the first at ${outside.first}`
    if (outside.rows > 0) yield [{ fault: { code: 'position-order', message } }]
    yield (await schemaFaults(sessions)).map((fault) => ({ fault }))
    if (notes !== undefined)
      for await (const faults of noteFaults(sessions, waits, notes)) yield faults.map((fault) => ({ fault }))
  } finally {
    await closeSessions(sessions)
  }
}
