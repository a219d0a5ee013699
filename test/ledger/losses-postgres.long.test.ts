import { rmSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runStream } from '../../schemas/names.ts'
import { exportText } from '../../src/export/issue-export.ts'
import { GROUP_NOTES, ringSeal } from '../../src/signing/note-seal.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
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

test('the last event of a run is gone from PostgreSQL, and the file of the logs too: its tenant’s log stops there, others go on, and put back it is whole again (STR-45, LOG-47, A404)', async () => {
  const url = await newPostgresUrl()
  const keys = testStoreKeys()
  using folder = tempFolder()
  const opened = async () => {
    const store = await openPostgresStore({ url })
    store.noteWith?.(ringSeal(() => keys.ring, GROUP_NOTES))
    const at = await testLogs({ folder: folder.path, keys, store })
    const dispose = async (): Promise<void> => {
      await at[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
    }
    return { at, [Symbol.asyncDispose]: dispose }
  }
  {
    await using first = await opened()
    await first.at.fill('acme', 'one', 2)
    await first.at.fill('beta', 'far', 1)
  }
  await using db = await owner(url)
  await db.query('SET session_replication_role = replica')
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
    await using second = await opened()
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
  await using third = await opened()
  await third.at.logs.publish()
  assert.equal(third.at.logs.losses('acme'), [])
  assert.is(await startedCode(third.at, 'acme'), 'started')
})

test.run()
