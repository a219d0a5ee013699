import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { buildFaultyDisk } from '../support/disk-fault.ts'
import { tempFolder } from '../support/temp-folder.ts'
import type { DurableFileReport } from './durable-file-child.ts'

const test = suite('files that a crash leaves whole')
const CHILD = fileURLToPath(new URL('./durable-file-child.js', import.meta.url))
const folder = tempFolder()
test.after(() => folder[Symbol.dispose]())
const env = buildFaultyDisk(folder.path)
if (env === undefined) console.log('skipped: failing syncs, there is no C compiler')
const claim = env === undefined ? test.skip : test

function report(): DurableFileReport {
  const { stdout, stderr, status } = spawnSync(process.execPath, [CHILD, folder.path], { env, encoding: 'utf8' })
  assert.is(status, 0, stderr)
  return JSON.parse(stdout) as DurableFileReport
}

claim('a file is synced before it takes its place, and its folder after; a key is not used before both (F42)', () => {
  const { replaced, made, folderSyncs, watcher } = report()
  assert.equal(replaced, [
    { threw: true, text: 'old' },
    { threw: true, text: 'new' },
    { threw: false, text: 'new' },
  ])
  assert.equal(made, [
    { threw: true, text: null },
    { threw: true, text: 'new' },
    { threw: false, text: 'new' },
  ])
  assert.is(folderSyncs, 3, 'the folder above each new one')
  assert.equal(watcher, { whileFailing: 1, errors: 1, afterwards: 2 })
})

test.run()
