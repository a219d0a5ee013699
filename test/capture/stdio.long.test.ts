import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { BIN, cleanEnv, collected, countersign, endOf, spawnTracked } from '../support/command-line.ts'
import { startServer } from '../support/server-process.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'
import { eventually, within } from '../support/within.ts'

const stdio = suite('capture: stdio')

const SERVER = fileURLToPath(new URL('./counting-server-child.js', import.meta.url))
const CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"charge","arguments":{"n":1}}}\n'
const ENDS_MS = 5_000

/** As `npx` does it: the server is a grandchild, which no signal to the child reaches. */
function start(folder: TempFolder, place: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const server = ['sh', '-c', `"${process.execPath}" "${SERVER}" "${folder.file('calls')}"; true`]
  const child = spawnTracked([process.execPath, BIN, 'mcp', ...place, '--', ...server], {
    env: cleanEnv(env),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  const output = collected(child)
  if (child.stdout !== null) createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  return { child, lines, output, ended: endOf(child) }
}

function pidOf(folder: TempFolder): number {
  const [, pid = ''] = /"pid":(\d+)/.exec(readFileSync(folder.file('calls'), 'utf8')) ?? []
  return Number(pid)
}

const isGone = (pid: number): boolean => !existsSync(`/proc/${pid}`)

for (const [how, end] of [
  ['the end of its input', (child: ChildProcess) => child.stdin?.end()],
  ['SIGTERM', (child: ChildProcess) => child.kill('SIGTERM')],
  ['SIGKILL', (child: ChildProcess) => child.kill('SIGKILL')],
] as const) {
  stdio(
    `after ${how} nothing of the server is left, a grandchild neither; the output is the protocol alone (CAP-12)`,
    async () => {
      using folder = tempFolder()
      const { child, lines, output, ended } = start(folder, ['--data', folder.file('data')])
      child.stdin?.write(CALL)
      await eventually(() => (lines.length > 0 ? true : undefined), 'the answer')
      const pid = pidOf(folder)
      end(child)
      await eventually(() => (isGone(pid) ? true : undefined), 'the end of the server', ENDS_MS)
      await within(ended, 'the end of the proxy', ENDS_MS)
      assert.is(lines.length, 1)
      for (const line of lines) assert.is(JSON.parse(line).jsonrpc, '2.0')
      assert.not.match(output.stderr, /Error|\n {4}at /)
      if (how === 'SIGKILL') return
      const calls = await countersign(['audit', 'runs', '--data', folder.file('data')])
      assert.match(calls.stdout, /completed/, calls.stderr)
    },
  )
}

stdio('a data folder that a ledger serves is refused with its address', async () => {
  await using ledger = await startServer()
  using folder = tempFolder()
  const { child, output, ended } = start(folder, ['--data', ledger.data])
  child.stdin?.end()
  assert.is((await within(ended)).code, 1)
  assert.match(output.stderr, ledger.url)
})

stdio('a server that cannot be started is said to be, and ends the session', async () => {
  using folder = tempFolder()
  const { code, stderr, stdout } = await countersign(['mcp', '--data', folder.file('data'), '--', 'no-such-program'], {
    stdin: '',
  })
  assert.is(code, 1)
  assert.is(stdout, '')
  assert.match(stderr, /no-such-program could not be started/)
})

stdio.run()
