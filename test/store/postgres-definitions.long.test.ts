/** @module What protects the events on PostgreSQL, altered under its own name. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { NO_STREAM, StoreOpenError } from '../../src/store/event-store.ts'
import { scanPostgres } from '../../src/store/postgres/postgres-reader.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { initSchemaAt, schemaStatusAt } from '../../src/store/postgres/schema-check.ts'
import { owner, schemaOf } from '../support/postgres-owner.ts'
import { newPostgresUrl } from '../support/postgres-store.ts'
import { appendOf } from '../support/records.ts'

const test = suite('postgres: definitions')

interface Alteration {
  readonly what: string
  readonly sql: (schema: string) => string
  /** What is named, in this order. */
  readonly named: readonly string[]
}

const TRIGGER_BODY = 'RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$'
const ALTERATIONS: readonly Alteration[] = [
  {
    what: 'a function that refuses changes, and now lets them pass',
    sql: (s) => `CREATE OR REPLACE FUNCTION ${s}.refuse_change() ${TRIGGER_BODY}`,
    named: ['refuse_change is not as this build makes it'],
  },
  {
    what: 'a trigger that is made again, and never fires',
    sql: (s) =>
      `CREATE OR REPLACE TRIGGER events_append_only BEFORE DELETE OR UPDATE ON ${s}.events FOR EACH ROW WHEN (false) EXECUTE FUNCTION ${s}.refuse_change()`,
    named: ['events_append_only of'],
  },
  {
    what: 'a trigger that no longer concerns deletions',
    sql: (s) =>
      `CREATE OR REPLACE TRIGGER events_append_only BEFORE UPDATE ON ${s}.events FOR EACH ROW EXECUTE FUNCTION ${s}.refuse_change()`,
    named: ['events_append_only of'],
  },
  {
    what: 'a trigger that calls a function of the same name elsewhere',
    sql: (s) => `CREATE SCHEMA ${s}_b; CREATE FUNCTION ${s}_b.refuse_change() ${TRIGGER_BODY};
      CREATE OR REPLACE TRIGGER events_no_truncate BEFORE TRUNCATE ON ${s}.events FOR EACH STATEMENT EXECUTE FUNCTION ${s}_b.refuse_change()`,
    named: ['events_no_truncate of'],
  },
  {
    what: 'a function that appends, with one word changed',
    sql: (
      s,
    ) => `DO $do$ BEGIN EXECUTE replace(pg_get_functiondef((SELECT oid FROM pg_proc WHERE proname = 'append_group'
      AND pronamespace = '${s}'::regnamespace)), 'ORDER BY a.ord', 'ORDER BY a.ord DESC'); END $do$`,
    named: ['append_group is not'],
  },
  {
    what: 'a function that runs with the rights of its owner',
    sql: (s) => `ALTER FUNCTION ${s}.settled_group() SECURITY DEFINER`,
    named: ['settled_group is not'],
  },
  {
    what: 'a second function of the same name',
    sql: (s) => `CREATE FUNCTION ${s}.next_group(a integer) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'`,
    named: ['next_group is not'],
  },
  {
    what: 'a unique index that covers less',
    sql: (s) => `DROP INDEX ${s}.events_stream_request;
      CREATE UNIQUE INDEX events_stream_request ON ${s}.events (stream, request) WHERE request = 'x'`,
    named: ['events_stream_request of'],
  },
  {
    what: 'a unique index that is an index alone',
    sql: (s) => `ALTER TABLE ${s}.events DROP CONSTRAINT events_stream_revision;
      CREATE INDEX events_stream_revision ON ${s}.events (stream, revision)`,
    named: ['the index events_stream_revision of', 'the constraint events_stream_revision of'],
  },
  {
    what: 'a check that permits everything',
    sql: (s) =>
      `ALTER TABLE ${s}.events DROP CONSTRAINT events_revision_check, ADD CONSTRAINT events_revision_check CHECK (true)`,
    named: ['events_revision_check of'],
  },
  {
    what: 'a function that is gone',
    sql: (s) => `DROP FUNCTION ${s}.append_group`,
    named: ['append_group is gone'],
  },
]

async function refusal(url: string): Promise<string> {
  try {
    await (await openPostgresStore({ url }))[Symbol.asyncDispose]()
    return 'opened'
  } catch (error) {
    if (!(error instanceof StoreOpenError)) throw error
    return `${error.code} ${error.message}`
  }
}

async function faultsOf(url: string): Promise<readonly { readonly code: string; readonly message: string }[]> {
  const faults: { code: string; message: string }[] = []
  for await (const page of scanPostgres({ url })) for (const item of page) if ('fault' in item) faults.push(item.fault)
  return faults
}

for (const { what, sql, named } of ALTERATIONS) {
  test(`${what} is named by status and verify, and refused at the start (STR-31, A320)`, async () => {
    const url = await newPostgresUrl()
    await using client = await owner(url)
    assert.is(await refusal(url), 'opened')
    await client.query(sql(schemaOf(url)))
    const refused = await refusal(url)
    assert.match(refused, /^store-corrupt .*countersign store init.*countersign verify/)
    assert.ok(refused.includes(named[0] ?? ''), refused)
    const { faults } = await schemaStatusAt(url)
    assert.is(faults.length, named.length, faults.join('\n'))
    for (const [at, part] of named.entries()) assert.ok(faults[at]?.includes(part), faults[at])
    assert.equal(
      await faultsOf(url),
      faults.map((message) => ({ code: 'protection-altered', message })),
    )
  })
}

test('what the session is set to, and what is the owner’s own, makes no difference (STR-31)', async () => {
  const url = await newPostgresUrl()
  const schema = schemaOf(url)
  const role = `writer_${schema}`
  await using client = await owner(url)
  await client.query(`CREATE ROLE ${role} LOGIN`)
  await client.query(`ALTER ROLE ${role} SET search_path = ${schema}, public`)
  await client.query(`ALTER ROLE ${role} SET quote_all_identifiers = on`)
  await initSchemaAt(url, role)
  await client.query(`CREATE INDEX own ON ${schema}.events (tenant)`)
  await client.query(`ALTER INDEX ${schema}.events_tenant_position SET (fillfactor = 80)`)
  await client.query(`REINDEX TABLE CONCURRENTLY ${schema}.events`)
  const own = new URL(url)
  own.username = role
  await using store = await openPostgresStore({ url: own.toString() })
  assert.is((await store.append(appendOf('run-acme.r', NO_STREAM))).kind, 'appended')
  assert.equal((await schemaStatusAt(own.toString())).faults, [])
  assert.equal(await faultsOf(own.toString()), [])
})

test.run()
