import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { NO_STREAM } from '../../src/store/event-store.ts'
import { openWriter } from '../../src/store/sqlite/open-writer.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { prepareStorePath } from '../../src/store/sqlite/store-path.ts'
import { record, records } from '../support/records.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('an sqlite store under a raw SQL connection')

const ROW = `SELECT position, stream_id, revision, 'forged', salt, data, request FROM events WHERE position = 2`
const INTO = 'events (position, stream_id, revision, header, salt, data, request)'

/** What an attacker with the file and plain SQL would try; `recursive_triggers` off is SQLite's own default. */
const ATTACKS: readonly (readonly [title: string, sql: string])[] = [
  ['a body is updated', `UPDATE events SET data = 'forged' WHERE position = 2`],
  ['a position is updated', 'UPDATE events SET position = 99 WHERE position = 2'],
  ['nothing is changed, but updated', 'UPDATE events SET data = data'],
  ['an event is deleted', 'DELETE FROM events WHERE position = 3'],
  ['everything is deleted', 'DELETE FROM events'],
  ['an event is replaced by position', `INSERT OR REPLACE INTO ${INTO} ${ROW}`],
  [
    'an event is replaced by revision',
    `INSERT OR REPLACE INTO ${INTO} SELECT 99, stream_id, 1, 'forged', salt, data, NULL FROM events LIMIT 1`,
  ],
  [
    'an event is replaced by request',
    `INSERT OR REPLACE INTO ${INTO} SELECT 99, 1, 3, 'forged', salt, data, 'request-1' FROM events LIMIT 1`,
  ],
  ['REPLACE INTO', `REPLACE INTO ${INTO} ${ROW}`],
  ['an upsert', `INSERT INTO ${INTO} ${ROW} ON CONFLICT (position) DO UPDATE SET header = 'forged'`],
  [
    'an event is slipped in before the end',
    `INSERT INTO ${INTO} SELECT 0, 1, 3, header, salt, data, NULL FROM events LIMIT 1`,
  ],
  ['a revision is skipped', `INSERT INTO ${INTO} SELECT 99, 1, 7, header, salt, data, NULL FROM events LIMIT 1`],
  [
    'a stream starts in the middle',
    `INSERT INTO streams (id, name) VALUES (9, 'run-acme.x'); INSERT INTO ${INTO} SELECT 99, 9, 1, header, salt, data, NULL FROM events LIMIT 1`,
  ],
  ['a stream is renamed', `UPDATE streams SET name = 'run-beta.r1'`],
  ['a stream is deleted', 'DELETE FROM streams'],
  ['a stream is replaced by name', `INSERT OR REPLACE INTO streams (id, name) VALUES (77, 'run-acme.r1')`],
  ['a stream is replaced by id', `INSERT OR REPLACE INTO streams (id, name) VALUES (1, 'run-beta.r1')`],
]

async function filled(path: string): Promise<void> {
  await using store = await openSqliteStore({ path })
  const first = [record(), record({ requestId: 'request-1' }), ...records(1)]
  await store.append({ stream: 'run-acme.r1', expectedRevision: NO_STREAM, records: first })
}

/** One store for all of them: each finds it as it was, and leaves it so. */
const folder = tempFolder()
const path = folder.file('ledger.sqlite')
test.before(() => filled(path))
test.after(() => folder[Symbol.dispose]())

for (const recursive of ['OFF', 'ON']) {
  for (const [title, sql] of ATTACKS) {
    test(`refused where ${title} (recursive triggers ${recursive}) (STR-22)`, () => {
      const db = new Sqlite(path)
      db.pragma(`recursive_triggers = ${recursive}`)
      const dump = () => JSON.stringify(db.prepare('SELECT * FROM events JOIN streams ON streams.id = stream_id').all())
      const before = dump()
      assert.throws(
        () => db.transaction(() => db.exec(sql))(),
        (error: Error) => error.message.startsWith('append-only'),
      )
      assert.is(dump(), before)
      db.close()
    })
  }
}

test('every connection that writes syncs fully and keeps a log (STR-22)', () => {
  using folder = tempFolder()
  const db = openWriter(prepareStorePath(folder.file('ledger.sqlite')))
  assert.is(db.pragma('synchronous', { simple: true }), 2)
  assert.is(db.pragma('journal_mode', { simple: true }), 'wal')
  assert.is(db.pragma('foreign_keys', { simple: true }), 1)
  db.close()
})

test.run()
