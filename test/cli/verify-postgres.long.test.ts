import pg from 'pg'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { readSettings } from '../../src/settings/config.ts'
import { readConnectionUrl } from '../../src/store/postgres/connection-url.ts'
import { GROUP_SIZE } from '../../src/store/postgres/schema.ts'
import { countersign } from '../support/command-line.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { owner, schemaOf } from '../support/postgres-owner.ts'
import { newPostgresUrl } from '../support/postgres-store.ts'
import { CALLER } from '../support/small-store.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('verify on PostgreSQL')

interface Tampering {
  readonly what: string
  readonly sql: (table: string) => string
  readonly named: RegExp
}

/** What a superuser can do whom no trigger stops. */
const TAMPERINGS: readonly Tampering[] = [
  {
    what: 'a changed body',
    sql: (t) => `UPDATE ${t} SET data = replace(data, 'one', 'two') WHERE revision = 1`,
    named: /run-acme\.r @ 1 .*data-digest/,
  },
  {
    what: 'a changed header',
    sql: (t) =>
      `UPDATE ${t} SET header = replace(header, 'tester', 'tampr1') WHERE stream = 'run-acme.r' AND revision = 1`,
    named: /run-acme\.r @ 1 .*mac/,
  },
  {
    what: 'an event that is gone',
    sql: (t) => `DELETE FROM ${t} WHERE stream = 'run-acme.r' AND revision = 1`,
    named: /run-acme\.r/,
  },
  {
    what: 'an event in another stream',
    sql: (t) => `UPDATE ${t} SET stream = 'run-acme.s' WHERE stream = 'run-acme.r'`,
    named: /wrong-stream/,
  },
  {
    what: 'two events that changed places',
    sql: (t) =>
      `UPDATE ${t} SET revision = CASE revision WHEN 1 THEN 1002 ELSE 1001 END WHERE stream = 'run-acme.r' AND revision IN (1, 2)`,
    named: /wrong-revision/,
  },
  {
    what: 'another request id beside the header',
    sql: (t) => `UPDATE ${t} SET request = 'x' WHERE stream = 'run-acme.r' AND revision = 1`,
    named: /request/,
  },
  ...['-5', '0', '9000000000000000000'].map((position) => ({
    what: `an event more at position ${position}`,
    sql: (t: string) => `INSERT INTO ${t} (position, stream, revision, header, salt, data)
      SELECT ${position}, stream, revision + 1, header, salt, data FROM ${t} WHERE stream = 'run-acme.r' ORDER BY revision DESC LIMIT 1`,
    named: new RegExp(`position-order.*1 are at positions that were never assigned, the first at ${position}`),
  })),
]

test('whatever a superuser changes behind the triggers is TAMPERED and named; a disabled trigger as well', async () => {
  const url = await newPostgresUrl()
  using folder = tempFolder()
  const store = ['--store', url, '--keys', folder.file('keys.json')]
  assert.is((await countersign(['keys', 'create', '--keys', folder.file('keys.json')])).code, 0)
  await fill(folder.file('data'), url, folder.file('keys.json'))
  const whole = await countersign(['verify', url, ...store.slice(2)])
  assert.is(whole.code, 0, whole.stdout + whole.stderr)
  assert.match(whole.stdout, /VERIFIED/)

  const { config, schema } = readConnectionUrl(url)
  const superuser = new pg.Client(config)
  await superuser.connect()
  const table = `${schema}.events`
  await superuser.query(`SET session_replication_role = replica`)
  await superuser.query(
    `CREATE TABLE ${schema}.saved AS SELECT position, stream, revision, header, salt, data, request FROM ${table}`,
  )
  for (const { what, sql, named } of TAMPERINGS) {
    await superuser.query(sql(table))
    const { code, stdout } = await countersign(['verify', url, ...store.slice(2)])
    assert.is(code, 1, `${what}: ${stdout}`)
    assert.match(stdout, named, what)
    await superuser.query(`DELETE FROM ${table}`)
    await superuser.query(
      `INSERT INTO ${table} (position, stream, revision, header, salt, data, request) SELECT * FROM ${schema}.saved`,
    )
  }
  await superuser.query(`ALTER TABLE ${table} DISABLE TRIGGER events_no_truncate`)
  const disabled = await countersign(['verify', url, ...store.slice(2)])
  assert.is(disabled.code, 1)
  assert.match(disabled.stdout, /schema-altered.*events_no_truncate/)
  await superuser.end()
})

test('an event that log.db knows is gone from PostgreSQL, with the note of its group: each command at rest beside that file names it and ends with 3 (LOG-49, LOG-106, A645)', async () => {
  const url = await newPostgresUrl()
  using folder = tempFolder()
  const [data, keys] = [folder.file('data'), folder.file('keys.json')]
  assert.is((await countersign(['keys', 'create', '--keys', keys])).code, 0)
  await fill(data, url, keys)
  const asked = (...args: readonly string[]) =>
    runInProcess([...args, '--tenant', 'acme', '--store', url, '--keys', keys, '--data', data])
  const commands = [['audit', 'runs'], ['runs', 'list'], ['export']]
  for (const args of commands) assert.is((await asked(...args)).code, 0, args.join(' '))
  await using client = await owner(url)
  await client.query('SET session_replication_role = replica')
  const { rows } = await client.query<{ grp: string }>(
    `DELETE FROM ${schemaOf(url)}.events WHERE stream = 'run-acme.r' AND revision = 1 RETURNING position / ${GROUP_SIZE} AS grp`,
  )
  await client.query(`DELETE FROM ${schemaOf(url)}.event_groups WHERE grp = $1`, [rows[0]?.grp])
  for (const args of commands) {
    const { code, stderr } = await asked(...args)
    assert.equal(
      [args.join(' '), code, /INCOMPLETE: lost: .*run-acme\.r @ 1/.test(stderr)],
      [args.join(' '), 3, true],
      stderr,
    )
  }
})

test('every note was taken out of its row, so that each group looks like one of an earlier build: beside log.db, which has seen notes, that is TAMPERED (STR-44, A646)', async () => {
  const url = await newPostgresUrl()
  using folder = tempFolder()
  const [data, keys] = [folder.file('data'), folder.file('keys.json')]
  assert.is((await countersign(['keys', 'create', '--keys', keys])).code, 0)
  await fill(data, url, keys)
  const verified = () => runInProcess(['verify', url, '--keys', keys, '--data', data])
  assert.is((await verified()).code, 0)
  await using client = await owner(url)
  await client.query('SET session_replication_role = replica')
  await client.query(`UPDATE ${schemaOf(url)}.event_groups SET writer = NULL, opens = false, note = NULL, seal = NULL`)
  const { code, stdout } = await verified()
  assert.is(code, 1, stdout)
  assert.match(stdout, /TAMPERED +group-notes +every note of a writer is gone/)
})

test('a store on PostgreSQL whose protection was altered is never VERIFIED, though every event is whole: verify and status name it, a start refuses it (STR-31, A320)', async () => {
  const url = await newPostgresUrl()
  using folder = tempFolder()
  const keys = ['--keys', folder.file('keys.json')]
  assert.is((await countersign(['keys', 'create', ...keys])).code, 0)
  await fill(folder.file('data'), url, folder.file('keys.json'))
  const { config, schema } = readConnectionUrl(url)
  const superuser = new pg.Client(config)
  await superuser.connect()
  await superuser.query(
    `CREATE OR REPLACE TRIGGER events_append_only BEFORE DELETE OR UPDATE ON ${schema}.events
      FOR EACH ROW WHEN (false) EXECUTE FUNCTION ${schema}.refuse_change()`,
  )
  await superuser.end()
  const named = new RegExp(`the trigger events_append_only of ${schema}.events is not as this build makes it`)
  const verified = await countersign(['verify', url, ...keys])
  assert.is(verified.code, 3, verified.stdout + verified.stderr)
  assert.match(verified.stdout, /^INCOMPLETE {2}protection-altered {2}/m)
  assert.match(verified.stdout, named)
  assert.not.match(verified.stdout, /TAMPERED|VERIFIED/)
  const status = await countersign(['store', 'status', '--store', url])
  assert.is(status.code, 1)
  assert.match(status.stdout, named)
  const settings = readSettings({ data: folder.file('data'), store: url, keys: folder.file('keys.json') }, {})
  const refused = await openLedger(settings, silentLog).then(
    () => 'started',
    (error: unknown) => String(error),
  )
  assert.match(refused, named)
})

test('a ledger that was copied or restored into another schema is attested there: VERIFIED while it is whole, and an event that is deleted is named (STR-40, A405)', async () => {
  const url = await newPostgresUrl()
  using folder = tempFolder()
  const keys = ['--keys', folder.file('keys.json')]
  assert.is((await countersign(['keys', 'create', ...keys])).code, 0)
  await fill(folder.file('data'), url, folder.file('keys.json'))
  // Behind the run that is cut later.
  await fill(folder.file('data'), url, folder.file('keys.json'), 's')
  const [copied, restored] = [await newPostgresUrl(), await newPostgresUrl()]
  const copy = await countersign(['copy', '--from', url, '--to', copied, ...keys])
  assert.is(copy.code, 0, copy.stderr)
  await using superuser = await owner(url)
  await superuser.query('SET session_replication_role = replica')
  const columns = 'position, stream, revision, header, salt, data, request'
  const [from, to] = [schemaOf(url), schemaOf(restored)]
  await superuser.query(`INSERT INTO ${to}.events (${columns}) SELECT ${columns} FROM ${from}.events`)
  await superuser.query(`SELECT setval('${to}.append_groups', (SELECT last_value FROM ${from}.append_groups))`)
  const inPart = await countersign(['verify', restored, ...keys])
  assert.is(inPart.code, 1, inPart.stdout)
  assert.match(inPart.stdout, /group-notes .*groups of events are without the row that each has/)
  await superuser.query(`INSERT INTO ${to}.event_groups SELECT * FROM ${from}.event_groups`)
  for (const each of [copied, restored]) {
    const whole = await countersign(['verify', each, ...keys])
    assert.is(whole.code, 0, whole.stdout + whole.stderr)
    assert.not.match(whole.stdout, /attest/)
    await superuser.query(
      `DELETE FROM ${schemaOf(each)}.events WHERE stream = 'run-acme.r' AND revision = (SELECT max(revision) FROM ${schemaOf(each)}.events WHERE stream = 'run-acme.r')`,
    )
    const cut = await countersign(['verify', each, ...keys])
    assert.is(cut.code, 1, cut.stdout)
    assert.match(cut.stdout, /^TAMPERED {2}run-acme\.r @ 3 {2}missing /m)
    assert.not.match(cut.stdout, /position-gap/)
  }
})

test('every note is gone, and the store says that it is older than all of its events: it is not VERIFIED where log.db has seen notes (STR-44)', async () => {
  const url = await newPostgresUrl()
  using folder = tempFolder()
  const [data, keys] = [folder.file('data'), folder.file('keys.json')]
  assert.is((await countersign(['keys', 'create', '--keys', keys])).code, 0)
  await fill(data, url, keys)
  const asked = (...more: readonly string[]) => countersign(['verify', url, '--keys', keys, ...more])
  assert.is((await asked('--data', data)).code, 0)
  await using superuser = await owner(url)
  await superuser.query('SET session_replication_role = replica')
  const schema = schemaOf(url)
  await superuser.query(`DELETE FROM ${schema}.event_groups`)
  await superuser.query(
    `UPDATE ${schema}.meta SET value = (SELECT max(position) / 65536 FROM ${schema}.events) WHERE name = 'noted-after'`,
  )
  const without = await asked('--data', folder.file('none'))
  assert.match(without.stdout, /not checked: whether events were cut off the ends of streams among the \d+ first ones/)
  const found = await asked('--data', data)
  assert.is(found.code, 1, found.stdout)
  assert.match(
    found.stdout,
    /^TAMPERED {2}group-notes {2}groups were attested from behind 0 on, as log.db has seen, and the store says from behind \d+$/m,
  )
})

test.run()

async function fill(data: string, url: string, keys: string, run = 'r'): Promise<void> {
  const settings = readSettings({ data, store: url, keys, 'checkpoint-seconds': '0' }, {})
  await using opened = await openLedger(settings, silentLog)
  const { ledger } = opened
  await ledger.execute(CALLER, run, { kind: 'start', body: { id: run, name: 'one' } }, {})
  for (const step of [1, 2, 3]) {
    const body = { agent: 'ann', payload: { facts: ['one', `step ${step}`] }, mode: 'extend' as const }
    const done = await ledger.execute(CALLER, run, { kind: 'envelope', body }, {})
    assert.ok(done.ok, JSON.stringify(done))
  }
  await ledger.logs?.catchUp()
}
