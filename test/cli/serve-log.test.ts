import { closeSync, existsSync, openSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { serveLog } from '../../src/cli/serve-log.ts'

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

test.run()
