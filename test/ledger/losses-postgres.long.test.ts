import { rmSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runStream } from '../../schemas/names.ts'
import { exportText } from '../../src/export/issue-export.ts'
import { GROUP_NOTES, ringSeal } from '../../src/signing/note-seal.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { GROUP_SIZE } from '../../src/store/postgres/schema.ts'
import { owner, schemaOf } from '../support/postgres-owner.ts'
import { newPostgresUrl } from '../support/postgres-store.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { type TestLogs, testLogs } from '../support/test-logs.ts'
import { testStoreKeys } from '../support/test-store.ts'

const test = suite('what a ledger on PostgreSQL has lost')

const alice = { tenant: 'acme', actor: 'alice' } as const

async function startedCode({ ledger }: TestLogs, tenant: string): Promise<string> {
  const body = { id: 'new', name: 'new' }
  const outcome = await ledger.execute({ tenant, actor: 'alice' }, 'new', { kind: 'start', body } as never, {})
  return outcome.ok ? 'started' : outcome.refusal.code
}

async function trailerOf({ ledger }: TestLogs) {
  let text = ''
  for await (const part of exportText(ledger, alice, { format: 'jsonl', query: {} })) text += part
  return JSON.parse(text.trimEnd().split('\n').at(-1) ?? '').trailer
}

/** A ledger on a schema of its own, with one data folder over its starts. */
async function noted() {
  const url = await newPostgresUrl()
  const keys = testStoreKeys()
  const folder = tempFolder()
  const start = async () => {
    const store = await openPostgresStore({ url })
    store.noteWith?.(ringSeal(() => keys.ring, GROUP_NOTES))
    const at = await testLogs({ folder: folder.path, keys, store })
    const dispose = async (): Promise<void> => {
      await at[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
    }
    return { at, [Symbol.asyncDispose]: dispose }
  }
  const db = await owner(url)
  await db.query('SET session_replication_role = replica')
  const dispose = async (): Promise<void> => {
    await db[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  }
  return { url, folder, start, db, schema: schemaOf(url), [Symbol.asyncDispose]: dispose }
}

test('the last event of a run is gone from PostgreSQL, and the file of the logs too: its tenant’s log stops there, others go on, and put back it is whole again (STR-45, LOG-47, A404)', async () => {
  await using on = await noted()
  const { db, url, folder } = on
  {
    await using first = await on.start()
    await first.at.fill('acme', 'one', 2)
    await first.at.fill('beta', 'far', 1)
  }
  const table = `${schemaOf(url)}.events`
  const stream = runStream('acme', 'one')
  await db.query(
    `CREATE TABLE ${table}_gone AS SELECT position, stream, revision, header, salt, data, request FROM ${table}
      WHERE stream = '${stream}' ORDER BY revision DESC LIMIT 1`,
  )
  await db.query(`DELETE FROM ${table} WHERE position IN (SELECT position FROM ${table}_gone)`)
  const withoutLog = (): void => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(folder.file(`log.db${suffix}`), { force: true })
  }
  withoutLog()
  {
    await using second = await on.start()
    const { at } = second
    assert.equal(at.logs.losses('acme'), [{ scope: 'tenant', code: 'missing', stream, revision: 4 }])
    assert.equal(at.logs.losses('beta'), [])
    assert.is(await startedCode(at, 'acme'), 'log-stopped')
    assert.is(await startedCode(at, 'beta'), 'started')
    const { losses } = await trailerOf(at)
    assert.equal(losses, [{ scope: 'tenant', code: 'missing', stream, revision: 4 }])
  }
  await db.query(
    `INSERT INTO ${table} (position, stream, revision, header, salt, data, request) SELECT * FROM ${table}_gone`,
  )
  await using third = await on.start()
  await third.at.logs.publish()
  assert.equal(third.at.logs.losses('acme'), [])
  assert.is(await startedCode(third.at, 'acme'), 'started')
})

const notesLost = { scope: 'store', code: 'group-notes' }

test('a note is gone from under a ledger that goes on: nothing is written or signed any more, everything says so, over starts too, and with the note put back it goes on (STR-45, LOG-47)', async () => {
  await using on = await noted()
  const { schema } = on
  {
    await using first = await on.start()
    const { at } = first
    await at.fill('acme', 'one', 2)
    await at.logs.publish()
    assert.equal(at.logs.losses('acme'), [])
    await at.fill('acme', 'two', 1)
    await on.db.query(
      `CREATE TABLE ${schema}.kept AS SELECT * FROM ${schema}.event_groups WHERE grp > (SELECT max(grp) - 2 FROM ${schema}.event_groups)`,
    )
    await on.db.query(`DELETE FROM ${schema}.event_groups WHERE grp IN (SELECT grp FROM ${schema}.kept)`)
    await at.fill('acme', 'three', 1)
    await at.logs.catchUp()
    assert.equal(at.logs.losses('acme'), [notesLost])
    assert.equal(at.logs.losses('beta'), [notesLost])
    assert.equal(at.logs.stops(), [{ code: 'group-notes' }])
    assert.is(await startedCode(at, 'beta'), 'log-stopped')
    assert.equal((await trailerOf(at)).losses, [notesLost])
  }
  {
    await using second = await on.start()
    assert.equal(second.at.logs.losses('acme'), [notesLost])
  }
  await on.db.query(`INSERT INTO ${schema}.event_groups SELECT * FROM ${schema}.kept`)
  await using third = await on.start()
  assert.equal(third.at.logs.losses('acme'), [])
  assert.is(await startedCode(third.at, 'acme'), 'started')
})

test('every note is gone, and the store says that it is older than all of its events: the file of the logs knows better at once (STR-44)', async () => {
  await using on = await noted()
  const { schema } = on
  {
    await using first = await on.start()
    await first.at.fill('acme', 'one', 2)
    await first.at.logs.publish()
    await first.at.logs.catchUp()
  }
  await on.db.query(`DELETE FROM ${schema}.event_groups`)
  await on.db.query(
    `UPDATE ${schema}.meta SET value = (SELECT max(position) / ${GROUP_SIZE} FROM ${schema}.events) WHERE name = 'noted-after'`,
  )
  await using second = await on.start()
  assert.equal(second.at.logs.losses('acme'), [notesLost])
})

async function handed({ ledger }: TestLogs, run: string): Promise<string> {
  const body = { agent: 'a', payload: { n: 9 } }
  const outcome = await ledger.execute(alice, run, { kind: 'envelope', body } as never, {})
  return outcome.ok ? 'written' : outcome.refusal.code
}

for (const [what, from] of [
  ['the last event', 2],
  ['all events', 0],
] as const)
  test(`${what} of a run that a checkpoint covers are gone while nothing runs, and what came behind is there: the start stops that log alone, nothing is signed over it, and put back it goes on (LOG-46, LOG-106, A641)`, async () => {
    await using on = await noted()
    const { db, schema } = on
    const stream = runStream('acme', 'one')
    {
      await using first = await on.start()
      await first.at.fill('acme', 'one', 1)
      await first.at.fill('beta', 'far', 1)
      await first.at.logs.publish()
      await first.at.fill('acme', 'two', 1)
      await first.at.logs.publish()
    }
    const gone = `stream = '${stream}' AND revision >= ${from}`
    await db.query(
      `CREATE TABLE ${schema}.gone AS SELECT position, stream, revision, header, salt, data, request FROM ${schema}.events WHERE ${gone}`,
    )
    await db.query(`DELETE FROM ${schema}.events WHERE ${gone}`)
    for (let starts = 0; starts < 2; starts += 1) {
      await using again = await on.start()
      const { at } = again
      assert.equal(at.logs.losses('acme'), [{ scope: 'tenant', code: 'missing', stream, revision: from }])
      assert.equal(at.logs.losses('beta'), [])
      assert.is(await startedCode(at, 'acme'), 'log-stopped')
      const { published } = at.logs.state('acme')
      assert.is(await handed(at, 'two'), 'written', 'what is under way goes on')
      await at.logs.publish()
      assert.is(at.logs.state('acme').published, published)
      assert.equal(await at.logs.lostPlaces('acme'), [{ stream, revision: from }])
    }
    await db.query(
      `INSERT INTO ${schema}.events (position, stream, revision, header, salt, data, request) SELECT * FROM ${schema}.gone`,
    )
    await using last = await on.start()
    await last.at.logs.publish()
    assert.equal(last.at.logs.losses('acme'), [])
    assert.is(await startedCode(last.at, 'acme'), 'started')
  })

test('ends of runs are gone that the log has not taken: a start names the first from the notes, and no revision is given twice, over starts too (STR-52, LOG-78, A500)', async () => {
  await using on = await noted()
  const [one, two] = [runStream('acme', 'one'), runStream('acme', 'two')]
  const cut = (stream: string): Promise<unknown> =>
    on.db.query(
      `DELETE FROM ${on.schema}.events WHERE position = (SELECT max(position) FROM ${on.schema}.events WHERE stream = '${stream}')`,
    )
  {
    await using first = await on.start()
    const { at } = first
    await at.fill('acme', 'one', 1)
    await at.fill('acme', 'two', 1)
    await at.logs.publish()
    assert.equal([await handed(at, 'one'), await handed(at, 'two')], ['written', 'written'])
    await at.fill('beta', 'far', 1)
  }
  await cut(one)
  {
    await using second = await on.start()
    const { at } = second
    assert.equal(at.logs.losses('acme'), [{ scope: 'tenant', code: 'missing', stream: one, revision: 3 }])
    assert.is(await handed(at, 'one'), 'stream-damaged')
    assert.equal([await startedCode(at, 'acme'), await startedCode(at, 'beta')], ['log-stopped', 'started'])
    assert.is(await handed(at, 'two'), 'written', 'what is under way goes on')
    await at.logs.catchUp()
  }
  await cut(two)
  await using third = await on.start()
  assert.equal([await handed(third.at, 'one'), await handed(third.at, 'two')], ['stream-damaged', 'stream-damaged'])
})

test.run()
