import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Checkpoints } from '../../src/store/sqlite/checkpoints.ts'
import type { Database } from '../../src/store/sqlite/open.ts'
import { openWriter } from '../../src/store/sqlite/open-writer.ts'
import { prepareStorePath } from '../../src/store/sqlite/store-path.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('sqlite store: its log is copied by hand')

test('SQLite never copies the log by itself, which hides a failed sync (F47)', () => {
  using folder = tempFolder()
  const db = openWriter(prepareStorePath(folder.file('store.db')))
  assert.is(db.pragma('wal_autocheckpoint', { simple: true }), 0)
  assert.is(db.pragma('synchronous', { simple: true }), 2)
  db.close()
})

test('a copy that fails is reported once: the writer stops there (F47)', () => {
  const failing = {
    open: true,
    prepare: (sql: string) => ({
      get: () => {
        if (sql.includes('NOOP')) return { busy: 0, log: 10, checkpointed: 0 }
        throw new Error('disk I/O error')
      },
    }),
  }
  const failures: unknown[] = []
  const onFailure = (error: unknown): void => void failures.push(error)
  const checkpoints = new Checkpoints(failing as unknown as Database, { logFrames: 10, onFailure })
  checkpoints.afterCommit(false)
  checkpoints.stop()
  assert.is(failures.length, 1)
  assert.match(String(failures[0]), /disk I\/O error/)
})

test.run()
