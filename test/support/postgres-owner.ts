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

/** The schema as version 3 left it: groups have no notes. */
export async function withoutNotes(client: pg.Client, schema: string): Promise<void> {
  await client.query(`DROP TABLE ${schema}.event_groups`)
  await client.query(`DROP FUNCTION ${schema}.note_group CASCADE`)
  await client.query(`DROP FUNCTION ${schema}.append_group_noted`)
  await client.query(`DELETE FROM ${schema}.meta WHERE name = 'noted-after'`)
  await client.query(`UPDATE ${schema}.meta SET value = 3 WHERE name = 'version'`)
}
