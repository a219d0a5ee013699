import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { NO_STREAM } from '../../src/store/event-store.ts'
import { openRowScan } from '../../src/store/sqlite/row-scan.ts'
import { openSqliteReader } from '../../src/store/sqlite/sqlite-reader.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { appendOf } from '../support/records.ts'
import { tamper } from '../support/tamper.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'

const test = suite('sqlite: where the file ends')

async function filled(folder: TempFolder, count: number): Promise<string> {
  const path = folder.file('store.db')
  await using store = await openSqliteStore({ path })
  await store.append(appendOf('run-acme.r', NO_STREAM, count))
  return path
}

function endFaults(path: string): readonly string[] {
  using scan = openRowScan({ path })
  return scan.structure(true).map(({ fault }) => `${fault.code}: ${fault.message}`)
}

const cutBehind = (path: string, position: number): void =>
  tamper(path, (db) => db.prepare('DELETE FROM events WHERE position > ?').run(position))

test('events that are deleted from the end of the file leave a number behind, and their positions are not given again (STR-46, A430)', async () => {
  using folder = tempFolder()
  const path = await filled(folder, 8)
  cutBehind(path, 5)
  assert.equal(endFaults(path), [
    'end-missing: events are gone from the end of the store, or the row that says where it ends: that should be position 8, and the last event is at 5',
  ])
  {
    using reader = openSqliteReader({ path })
    assert.equal(await reader.missingPositions?.(10), ['6', '7', '8'])
    assert.equal(await reader.missingEnd?.(), { first: '6', events: 3 })
  }
  await using store = await openSqliteStore({ path })
  const next = await store.append(appendOf('run-acme.r', 4))
  assert.equal(next, { kind: 'appended', revision: 5, position: '9' })
  assert.equal(await store.missingPositions?.(2), ['6', '7'])
  assert.is(await store.missingEnd?.(), undefined)
})

test('the row that says where the file ends can neither go back nor go away, and one that was taken away by force is missed (STR-46)', async () => {
  using folder = tempFolder()
  const path = await filled(folder, 3)
  const db = new Sqlite(path)
  for (const sql of ['UPDATE head SET position = 2', 'DELETE FROM head', 'INSERT INTO head VALUES (1, 9)'])
    assert.throws(() => db.exec(sql), /append-only|UNIQUE/, sql)
  db.close()
  tamper(path, (by) => by.exec('DELETE FROM head'))
  assert.match(endFaults(path).join(), /^end-missing: .*should be position 4, and the last event is at 3/)
})

test('a file of the schema before is read as it is, and gets its row with the first owner that writes it (STR-46)', async () => {
  using folder = tempFolder()
  const path = await filled(folder, 4)
  const db = new Sqlite(path)
  db.exec('DROP TABLE head')
  db.pragma('user_version = 1')
  db.close()
  assert.equal(endFaults(path), [])
  {
    using reader = openSqliteReader({ path })
    assert.equal(await reader.missingPositions?.(10), [])
  }
  await (await openSqliteStore({ path }))[Symbol.asyncDispose]()
  cutBehind(path, 2)
  assert.match(endFaults(path).join(), /should be position 4, and the last event is at 2/)
})

test('a deletion under a reader that has counted before is found, since it takes a change of the schema (A432)', async () => {
  using folder = tempFolder()
  const path = await filled(folder, 30)
  using reader = openSqliteReader({ path })
  assert.equal(await reader.missingPositions?.(10), [])
  const db = new Sqlite(path)
  const triggers = db.prepare<[], string>(`SELECT sql FROM sqlite_schema WHERE name = 'events_delete'`).pluck().all()
  db.exec('DROP TRIGGER events_delete')
  db.exec('DELETE FROM events WHERE position = 12')
  for (const sql of triggers) db.exec(sql)
  db.close()
  assert.equal(await reader.missingPositions?.(10), ['12'])
  assert.equal(await reader.missingPositions?.(10, 19), ['12'])
  assert.equal(await reader.missingPositions?.(10, 18), [], 'it is none of the last 18')
})

test.run()
