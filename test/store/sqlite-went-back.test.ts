import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { NO_STREAM, StoreWentBackError } from '../../src/store/event-store.ts'
import { forwardOnly } from '../../src/store/forward-only-store.ts'
import type { KnownEvent } from '../../src/store/known-events.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { appendOf } from '../support/records.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { eventually } from '../support/within.ts'

const test = suite('sqlite: a file that goes backwards under its owner')

/** What an older copy that is restored into the file leaves of it. */
function restoreOlder(path: string, events: number): void {
  const db = new Sqlite(path)
  const triggers = db
    .prepare<[], { name: string; sql: string }>(`SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'`)
    .all()
  db.transaction(() => {
    for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
    db.prepare('DELETE FROM events WHERE position > ?').run(events)
    for (const { sql } of triggers) db.exec(sql)
  })()
  db.close()
}

const countOf = (path: string): number => {
  const db = new Sqlite(path, { readonly: true })
  const count = db.prepare<[], number>('SELECT count(*) FROM events').pluck().get() ?? 0
  db.close()
  return count
}

test('an older copy is restored into the file while its owner serves: nothing is written behind it (A360)', async () => {
  using folder = tempFolder()
  const path = folder.file('store.db')
  const noted: KnownEvent[] = []
  await using store = forwardOnly(await openSqliteStore({ path }), {
    note: { place: undefined, keep: (missing) => noted.push(missing) },
    isSealed: () => true,
    onStreamCut: () => undefined,
    onNoteFailed: () => undefined,
    // Nobody looks by himself: it is the write that must notice.
    lookMs: 3_600_000,
  })
  for (let revision = NO_STREAM; revision < 9; revision += 1)
    assert.is((await store.append(appendOf('run-acme.a', revision))).kind, 'appended')
  restoreOlder(path, 7)
  const writes = ['b', 'c', 'd'].map((run) => store.append(appendOf(`run-acme.${run}`, NO_STREAM)))
  for (const { kind } of await Promise.all(writes)) assert.is(kind, 'unavailable')
  await eventually(() => (store.status().loss === undefined ? undefined : true), 'the verdict')
  assert.is((await store.append(appendOf('run-acme.e', NO_STREAM))).kind, 'unavailable')
  const thrown = await store.head('run-acme.a').catch((error: unknown) => error)
  assert.instance(thrown, StoreWentBackError)
  assert.is(countOf(path), 7)
  assert.equal(
    noted.map(({ stream, revision }) => [stream, revision]),
    [['run-acme.a', 9]],
  )
})

test.run()
