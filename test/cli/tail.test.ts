import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { BIN, cleanEnv, collected, endOf, spawnTracked } from '../support/command-line.ts'
import { eventually } from '../support/within.ts'

const test = suite('cli: tail')

const frame = (n: number): string => {
  const header = { id: `e${n}`, stream: 'run-t.r', type: 'RunStarted', time: '', actor: '' }
  return `id: ${n}\ndata: ${JSON.stringify({ header, data: {} })}\n\n`
}

test('a tail goes on from the last event it saw, however the line breaks (F103)', async () => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/v1/audit/events')) return response.end(JSON.stringify({ items: [], tailCursor: '0' }))
    const after = new URL(request.url ?? '', 'http://ledger.test').searchParams.get('after') ?? ''
    asked.push(after)
    const n = Number(after) + 1
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    // Broken in the middle of a frame, and without a word: the reader gets a reset.
    response.write(`${frame(n)}id: 9`, () => setImmediate(() => response.destroy()))
    return undefined
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const child = spawnTracked([process.execPath, BIN, 'tail', '-f', '--url', url, '--token', 't'], {
    env: cleanEnv(),
    stdio: 'pipe',
  })
  const output = collected(child)
  const ended = endOf(child)
  try {
    await eventually(() => (output.stdout.includes('"e3"') ? true : undefined), `the third event: ${output.stderr}`)
    assert.equal(asked.slice(0, 3), ['0', '1', '2'])
    child.kill('SIGINT')
    assert.is((await ended).code, 0, output.stderr)
  } finally {
    child.kill('SIGKILL')
    server.close()
    server.closeAllConnections()
  }
})

test.run()
