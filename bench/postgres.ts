/**
 * @module pg: appends by the PostgreSQL store compared with bare inserts of the same rows by `pg`, with as many rows per transaction as the store wrote, to a
 * table with the same columns and unique indexes, on the same server. 64 streams at once, each of which waits for its append.
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { AppendRecord } from '../schemas/header.ts'
import { createKeyRing } from '../src/signing/key-ring.ts'
import { GROUP_NOTES, ringSeal } from '../src/signing/note-seal.ts'
import type { EventStore } from '../src/store/event-store.ts'
import { readConnectionUrl } from '../src/store/postgres/connection-url.ts'
import { openPostgresStore } from '../src/store/postgres/postgres-store.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { newPostgresUrl } from '../test/support/postgres-store.ts'
import { type Bench, type BenchGroup, directMs } from './bench.ts'
import { perSecond, STREAMS, sealedRecords, throughAdapter } from './eventstoredb.ts'
import type { BenchOptions } from './options.ts'
import { ratioRow } from './report.ts'
import { Samples } from './statistics.ts'

/** Short alternating slices, so that a pause of the garbage collector or of the machine affects both sides. */
const SLICES = 4

export const postgres: BenchGroup = { name: 'PostgreSQL store', ids: ['pg'], open }

async function open(options: BenchOptions): Promise<Bench> {
  const templates = await sealedRecords(options)
  const server = await startPostgres()
  const url = await newPostgresUrl(server)
  const store = await openPostgresStore({ url })
  const ring = createKeyRing(new Date().toISOString(), randomBytes)
  store.noteWith?.(ringSeal(() => ring, GROUP_NOTES))
  const { config, schema } = readConnectionUrl(url)
  const client = new pg.Client(config)
  await client.connect()
  await client.query(BARE_TABLE)
  const append = throughAdapter(store, templates)
  const samples = new Samples()
  const sliceMs = directMs(options) / SLICES
  const groupsDrawn = async (): Promise<number> => {
    const { rows } = await client.query(`SELECT last_value AS drawn FROM ${schema}.append_groups`)
    return Number(rows[0]?.drawn)
  }
  const slice = async (): Promise<void> => {
    const before = await groupsDrawn()
    const rate = await perSecond(append, sliceMs)
    const transactions = (await groupsDrawn()) - before
    const rows = Math.max(1, Math.min(STREAMS, Math.round((rate * sliceMs) / 1_000 / Math.max(1, transactions))))
    samples.add('store', rate)
    samples.add('bare', await bareRate(client, templates, { rows, milliseconds: sliceMs }))
  }
  await perSecond(append, sliceMs)
  await bareRate(client, templates, { rows: STREAMS, milliseconds: sliceMs })
  return {
    round: async () => {
      for (let count = 0; count < SLICES; count += 1) await slice()
    },
    rows: () => [
      ratioRow(samples, {
        id: 'pg',
        what: `appends to PostgreSQL by the store ÷ bare inserts of the same rows in as large transactions, ${STREAMS} streams at once`,
        unit: 'appends/s',
        over: ['store', 'bare'],
        target: 0.8,
        note: 'the server shares this machine; its folder is temporary',
      }),
    ],
    [Symbol.asyncDispose]: () => close(store, client, server.kill),
  }
}

async function close(store: EventStore, client: pg.Client, kill: () => Promise<void>): Promise<void> {
  await store[Symbol.asyncDispose]()
  await client.end()
  await kill()
}

const BARE_TABLE = `CREATE TABLE bare (
  position bigserial PRIMARY KEY, stream text COLLATE "C" NOT NULL, revision bigint NOT NULL,
  header text COLLATE "C" NOT NULL, salt bytea NOT NULL, data text COLLATE "C" NOT NULL, request text COLLATE "C",
  UNIQUE (stream, revision));
  CREATE UNIQUE INDEX bare_request ON bare (stream, request) WHERE request IS NOT NULL;`

const INSERT = `INSERT INTO bare (stream, revision, header, salt, data)
  SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[], $5::text[])`

let inserted = 0

/** Rows per second: one statement, and so one transaction, after the other. */
async function bareRate(
  client: pg.Client,
  templates: readonly AppendRecord[],
  { rows, milliseconds }: { readonly rows: number; readonly milliseconds: number },
): Promise<number> {
  const startedMs = performance.now()
  let count = 0
  while (performance.now() - startedMs < milliseconds) {
    const group = Array.from({ length: rows }, (_, at) => templates[(count + at) % templates.length] as AppendRecord)
    inserted += 1
    const revision = inserted
    await client.query(INSERT, [
      group.map((_, at) => `run-default.bare.${at}`),
      group.map(() => revision),
      group.map(({ header }) => header),
      group.map(({ salt }) => Buffer.from(salt)),
      group.map(({ data }) => data),
    ])
    count += rows
  }
  return (count * 1_000) / (performance.now() - startedMs)
}
