/** @module What whoever owns the tables of a store on PostgreSQL does beside it. */
import pg from 'pg'
import { NO_STREAM } from '../../src/store/event-store.ts'
import { readConnectionUrl } from '../../src/store/postgres/connection-url.ts'

export const schemaOf = (url: string): string => readConnectionUrl(url).schema

/** A client of whoever owns the tables, beside the store. */
export async function owner(url: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client(readConnectionUrl(url).config)
  client.on('error', () => undefined)
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: async () => await client.end() })
}

/** An append of another process, as its transaction holds it before the commit. */
export async function writeOpen(client: pg.Client, url: string, stream: string): Promise<void> {
  const schema = schemaOf(url)
  await client.query('BEGIN')
  await client.query(
    `SELECT * FROM ${schema}.append_events($1::text[], $2::bigint[], $3::integer[], $4::integer[], $5::text[], $6::bytea[], $7::text[], $8::text[])`,
    [[stream], [NO_STREAM], [1], [0], ['{"id":"held"}'], [Buffer.alloc(16)], ['{}'], [null]],
  )
}
