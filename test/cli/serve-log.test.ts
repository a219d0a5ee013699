import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { serveLog } from '../../src/cli/serve-log.ts'
import { StoreUnavailableError } from '../../src/store/event-store.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: the log of serve')

const FULL = '/dev/full'

test('a log on a full disk throws at nobody, however often it is written to', () => {
  if (!existsSync(FULL)) return
  const fd = openSync(FULL, 'w')
  try {
    const log = serveLog(fd, 'info')
    assert.not.throws(() => {
      for (let n = 0; n < 300; n += 1) log.info({ text: 'x'.repeat(10_000) }, 'a line without room')
    })
  } finally {
    closeSync(fd)
  }
})

test('an outage is a line with what failed and why, and no stack; a fault of the code keeps its stack', () => {
  using folder = tempFolder()
  const path = folder.file('log')
  const fd = openSync(path, 'w')
  try {
    const log = serveLog(fd, 'info')
    const cause = new Error('connect ECONNREFUSED 127.0.0.1:5432')
    log.warn({ err: new StoreUnavailableError('the store is away', 1_000, { cause }) }, 'an outage')
    log.error({ err: new TypeError('no such member') }, 'a fault')
  } finally {
    closeSync(fd)
  }
  const [outage, fault] = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { err: { message: string; stack?: string; code?: string } })
  assert.is(outage?.err.stack, undefined)
  assert.is(outage?.err.message, 'the store is away: connect ECONNREFUSED 127.0.0.1:5432')
  assert.is(outage?.err.code, 'store-unavailable')
  assert.match(fault?.err.stack ?? '', /TypeError: no such member\n/)
})

test.run()
