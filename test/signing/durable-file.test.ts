import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { buildFaultyDisk } from '../support/disk-fault.ts'
import { tempFolder } from '../support/temp-folder.ts'
import type { DurableFileReport } from './durable-file-child.ts'

const test = suite('files that a crash leaves whole')
const MAKE = `
  import { makeFolder } from ${JSON.stringify(new URL('../../src/signing/durable-file.js', import.meta.url).href)}
  try {
    makeFolder(process.argv[1])
  } catch {
    process.exitCode = 7
  }`
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

test('a folder in a place that takes none is an error, and no endless loop', () => {
  const place = existsSync('/proc/self') ? '/proc/countersign/data' : join(CHILD, 'data')
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', MAKE, place], {
    encoding: 'utf8',
    timeout: 30_000,
  })
  assert.is(status, 7, stderr)
})

test.run()
