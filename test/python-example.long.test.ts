import { execFile, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startServer } from './support/server-process.ts'
import { ROOT } from './support/source-root.ts'

const test = suite('the example in Python')
const EXAMPLE = join(ROOT, 'examples/python/first_run.py')
const LINES_MAX = 80

function hasPython(): boolean {
  try {
    execFileSync('python3', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const claim = hasPython() ? test : test.skip
if (!hasPython()) console.log('skipped: the example in Python, there is no python3')

claim(
  'it runs as it is, with the standard library alone: a refused handoff, a payment made once, a replay',
  async () => {
    await using server = await startServer()
    const env = { ...process.env, COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: await server.token() }
    const printed = await new Promise<string>((resolve, reject) => {
      // Isolated: neither the user's packages nor those of the machine.
      execFile('python3', ['-I', '-S', EXAMPLE], { env, timeout: 60_000 }, (error, stdout, stderr) =>
        error === null ? resolve(stdout) : reject(new Error(stderr, { cause: error })),
      )
    })
    assert.match(printed, /^researcher: 201\nwriter: 409 contradiction \['\/entities'/)
    assert.is(printed.match(/^charging 2500$/gm)?.length, 1)
    assert.is(printed.match(/'payment': 'p-1'/g)?.length, 2)
    assert.match(printed, /replay: VERIFIED\ncomplete: 200\n$/)
  },
)

test('it is short', () => {
  assert.ok(readFileSync(EXAMPLE, 'utf8').split('\n').length <= LINES_MAX)
})

test.run()
