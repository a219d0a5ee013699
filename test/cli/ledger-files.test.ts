import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { foundLedger, runInProcess } from '../support/in-process-command.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: files of a ledger that are named by mistake')

test('the file of a store is no data folder: each command that takes --data names the folder instead', async () => {
  using folder = tempFolder()
  await foundLedger(folder.path)
  const data = '.countersign'
  const file = join(data, 'store.db')
  const COMMANDS = [
    ['runs', 'list'],
    ['verify'],
    ['export'],
    ['serve'],
    ['token', '--scope', 'admin'],
    ['rebuild'],
    ['keys', 'list'],
  ]
  for (const command of COMMANDS) {
    const { code, stdout, stderr } = await runInProcess([...command, '--data', file], { cwd: folder.path })
    assert.equal([code, stdout], [2, ''], command.join(' '))
    assert.match(stderr, /--data: \.countersign\/store\.db is a file.* name the folder that it is in, \.countersign;/)
  }
  const variable = await runInProcess(['runs', 'list'], { cwd: folder.path, env: { COUNTERSIGN_DATA: file } })
  assert.match(variable.stderr, /COUNTERSIGN_DATA: /)
  const store = await runInProcess(['runs', 'list', '--store', file], { cwd: folder.path })
  assert.is(store.code, 0, store.stderr)
})

test('no export is written under the name of a file of the ledger, whether that file is there or not', async () => {
  using folder = tempFolder()
  await foundLedger(folder.path)
  mkdirSync(folder.file('other'))
  for (const name of ['store.db', 'store.db-wal', 'audit.db', 'log.db', 'store.db.lost', 'keys.json', './views.db']) {
    const path = join('.countersign', name)
    const before = existsSync(folder.file(path))
    for (const args of [
      ['export', '--out', path],
      ['export', '--bundle', path],
      ['audit', 'runs', '--export', path],
    ]) {
      const { code, stderr } = await runInProcess(args, { cwd: folder.path })
      assert.equal([args.join(' '), code], [args.join(' '), 2], stderr)
      assert.match(stderr, /is the name of a file of the ledger itself/)
    }
    assert.is(existsSync(folder.file(path)), before, path)
  }
  const beside = ['export', '--store', 'other/mine.db', '--out', 'other/mine.db']
  assert.is((await runInProcess(beside, { cwd: folder.path })).code, 2)
  const { code, stderr } = await runInProcess(['export', '--out', 'store.db.jsonl'], { cwd: folder.path })
  assert.is(code, 0, stderr)
})

test.run()
