import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runInProcess } from '../support/in-process-command.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: what answers at --url')

const EVENT = '0190f0f0-0000-7000-8000-000000000000'
const COMMANDS = [
  ['checkpoint'],
  ['checkpoint', '--json'],
  ['checkpoint', '--key'],
  ['checkpoint', '--successions'],
  ['checkpoint', '--timestamp', 'stamp'],
  ['proof', EVENT],
  ['replay', 'r', '--json'],
]

/** Answers every request with the same bytes. */
async function liar(body: string): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((_, response) => response.end(body)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: close }
}

test('what is no checkpoint, key, succession, time-stamp, proof or replay is printed as none, and no command ends with 0 (A450)', async () => {
  using folder = tempFolder()
  for (const body of ['', 'no note\n', '{"a":1}', '[1]', '\u001b[2Jevil\n', 'null\n']) {
    await using server = await liar(body)
    for (const command of COMMANDS) {
      const args = [...command, '--url', server.url, '--token', 't']
      const { code, stdout, stderr } = await runInProcess(args, { cwd: folder.path })
      const what = `${command.join(' ')} of ${JSON.stringify(body)}`
      assert.ok([3, 4].includes(code), `${what}: ${code} ${stderr}`)
      assert.not.ok(`${stdout}${stderr}`.includes('\u001b'), what)
      if (command[0] !== 'replay') assert.is(stdout, '', what)
    }
  }
})

test('a replay that ends before its verdict has none, and ends with 3, whatever its lines say (A450)', async () => {
  using folder = tempFolder()
  const line = JSON.stringify({ revision: 0, type: 'RunStarted', time: 't', actor: 'a', ok: true, step: 0 })
  const verdict = JSON.stringify({ verdict: 'VERIFIED', stream: 'run-default.r', events: 1, snapshots: {} })
  for (const [body, expected] of [
    [`${line}\n`, 3],
    [`${line}\n${verdict}`, 3],
    [`${line}\n${verdict}\n`, 0],
    [`${line}\n${verdict.replace('VERIFIED', 'TAMPERED')}\n`, 1],
  ] as const) {
    await using server = await liar(body)
    const args = ['replay', 'r', '--json', '--url', server.url, '--token', 't']
    assert.is((await runInProcess(args, { cwd: folder.path })).code, expected, body)
  }
})

test('nobody at --url, no token, or flags that take the store end with the exit code that says why', async () => {
  using folder = tempFolder()
  const remote = ['--url', 'http://127.0.0.1:1', '--token', 't']
  const ends: readonly (readonly [number, ...string[]])[] = [
    ...COMMANDS.map((command) => [4, ...command, ...remote] as const),
    ...COMMANDS.map((command) => [2, ...command, '--url', 'http://127.0.0.1:1'] as const),
    [2, 'checkpoint', '--url', 'ftp://x', '--token', 't'],
    [2, 'checkpoint', '--tenant', 'acme', ...remote],
    [2, 'checkpoint', '--witness', 'http://127.0.0.1:1', ...remote],
    [2, 'proof', EVENT, '--trust-nothing', ...remote],
    [2, 'proof', EVENT, '--key', 'none', ...remote],
    [2, 'replay', 'no/run', ...remote],
  ]
  for (const [expected, ...args] of ends) {
    const { code, stdout, stderr } = await runInProcess(args, { cwd: folder.path })
    assert.equal([code, stdout], [expected, ''], `${args.join(' ')}: ${stderr}`)
    assert.match(stderr, /^countersign: [^\n]+\n$/, args.join(' '))
  }
})

test.run()
