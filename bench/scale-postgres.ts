/**
 * @module A store of `--scale` in a temporary PostgreSQL server: the rows of its file at the same positions, so that the derived files of the one also fit the
 * other and need not be built again.
 */
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { openLedger } from '../src/compose/compose.ts'
import { silentLog } from '../src/ledger/effects.ts'
import { readSettings } from '../src/settings/config.ts'
import { AUDIT_FILE, KEY_FILE, LOG_FILE, VIEWS_FILE } from '../src/settings/places.ts'
import type { ReadRecord } from '../src/store/event-store.ts'
import { readConnectionUrl } from '../src/store/postgres/connection-url.ts'
import { GROUP_SIZE } from '../src/store/postgres/schema.ts'
import { openSqliteReader } from '../src/store/sqlite/sqlite-reader.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { newPostgresUrl } from '../test/support/postgres-store.ts'
import { CALLER, storeFile } from './local-ledger.ts'
import { makeTempFolder } from './temp-folder.ts'

const ROWS_A_STATEMENT = 4_096

export interface PostgresPlace extends AsyncDisposable {
  readonly url: string
  /** A data folder for this store. */
  readonly data: string
  readonly fillSeconds: number
}

export async function putIntoPostgres(from: string): Promise<PostgresPlace> {
  const folder = makeTempFolder(from)
  const server = await startPostgres({ shared_buffers: '256MB', max_wal_size: '8GB' })
  const close = async (): Promise<void> => {
    await server.kill()
    folder[Symbol.dispose]()
  }
  try {
    const url = await newPostgresUrl(server)
    const startedMs = performance.now()
    await fill(url, from)
    const fillSeconds = (performance.now() - startedMs) / 1_000
    const data = folder.at('data')
    mkdirSync(data, { mode: 0o700 })
    for (const file of [KEY_FILE, VIEWS_FILE, AUDIT_FILE, LOG_FILE]) copyFileSync(join(from, file), join(data, file))
    await checkedOnce(data, url)
    return { url, data, fillSeconds, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

async function fill(url: string, from: string): Promise<void> {
  const { config, schema } = readConnectionUrl(url)
  const client = new pg.Client(config)
  await client.connect()
  using reader = openSqliteReader({ path: storeFile(from) })
  await client.query('SET synchronous_commit = off')
  const text = `INSERT INTO ${schema}.events (position, stream, revision, header, salt, data, request)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::bytea[], $6::text[], $7::text[])`
  let written: Promise<unknown> = Promise.resolve()
  let waiting: ReadRecord[] = []
  const write = async (): Promise<void> => {
    const values = columnsOf(waiting)
    waiting = []
    // The next rows are read while these are written.
    await written
    written = client.query(text, values)
  }
  for await (const page of reader.readAll()) {
    waiting.push(...page)
    if (waiting.length >= ROWS_A_STATEMENT) await write()
  }
  await write()
  await written
  const drawn = `SELECT setval('${schema}.append_groups', (SELECT max(position) / ${GROUP_SIZE} + 1 FROM ${schema}.events))`
  await client.query(drawn)
  await client.query(`ANALYZE ${schema}.events`)
  await client.end()
}

function columnsOf(records: readonly ReadRecord[]): unknown[] {
  return [
    records.map(({ position }) => position),
    records.map(({ stream }) => stream),
    records.map(({ revision }) => revision),
    records.map(({ header }) => header),
    records.map(({ salt }) => Buffer.from(salt)),
    records.map(({ data }) => data),
    records.map(({ requestId }) => requestId ?? null),
  ]
}

/** Files from another place are read as a whole when they are first opened: this is done before the measurement. */
async function checkedOnce(data: string, store: string): Promise<void> {
  const settings = readSettings({ data, store, 'read-threads': '0', 'scrub-days': '0' }, {})
  await using opened = await openLedger({ ...settings, auditIfAsked: true }, silentLog)
  await opened.ledger.listRuns(CALLER, { limit: 1 })
  await opened.ledger.audit?.ask(CALLER, { name: 'events', filter: { run: 'r0' } }, { limit: 1 })
  await opened.ledger.logs?.publish()
}
