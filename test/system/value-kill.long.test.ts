import { spawnSync } from 'node:child_process'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { countersign } from '../support/command-line.ts'
import { bundledProgram } from '../support/program.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('kill -9 between a large value and its event')
const CHILD = bundledProgram('test/system/value-kill-child.js')

function life(folder: string, dieAfter?: number) {
  const args = dieAfter === undefined ? [] : [String(dieAfter)]
  const { signal, stdout, stderr } = spawnSync(process.execPath, [CHILD, folder, ...args], { encoding: 'utf8' })
  return { signal, stdout, stderr }
}

test('after each append of it: no event names what is not whole, what is left over is harmless and counted, and the next life goes on from there (F137)', async () => {
  using whole = tempFolder()
  const { appends } = JSON.parse(life(whole.path).stdout) as { appends: number }
  assert.ok(appends >= 4, 'a value in several appends, and the event')
  for (let killed = 1; killed <= appends; killed += 1) {
    using folder = tempFolder()
    assert.is(life(folder.path, killed).signal, 'SIGKILL')
    const left = await countersign(['verify', '--data', folder.path])
    assert.is(left.code, 0, left.stdout + left.stderr)
    assert.is(
      left.stdout.includes('named by no event'),
      killed === appends - 1,
      `killed after ${killed}: ${left.stdout}`,
    )
    const next = life(folder.path)
    const { call } = JSON.parse(next.stdout || '{}') as { call: { status: string; attempt: number } }
    assert.equal([call.status, call.attempt], ['succeeded', 1], next.stderr)
    const after = await countersign(['verify', '--data', folder.path])
    assert.is(after.code, 0, after.stdout + after.stderr)
    assert.match(after.stdout, /1 large value beside the events/)
    assert.not.match(after.stdout, /named by no event/)
  }
})

test.run()
