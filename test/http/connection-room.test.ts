import type { Socket } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type RunningServer, type ServerLimits, startServer } from '../../src/http/server.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { closing, exchange, opened, statusOf } from '../support/raw-http.ts'
import { type TestEdge, testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'
import { eventually, PATIENCE_MS, within } from '../support/within.ts'

const test = suite('http: room for connections')

/** Far longer than a test, so that nothing but the room closes a connection. */
const PATIENT: Partial<ServerLimits> = {
  headersTimeoutMs: 120_000,
  requestTimeoutMs: 120_000,
  keepAliveTimeoutMs: 120_000,
}

interface Served extends AsyncDisposable {
  readonly edge: TestEdge
  readonly server: RunningServer
  readonly auth: string
}

async function served(limits: Partial<ServerLimits>, wrap?: (ledger: Ledger) => Ledger): Promise<Served> {
  const edge = await testEdge({ ...(wrap && { wrap }) })
  await edge.started('r')
  const all = { ...PATIENT, ...limits }
  const server = await startServer({ app: edge.app, host: '127.0.0.1', port: 0, draining: edge.draining, limits: all })
  return {
    edge,
    server,
    auth: `Bearer ${await edge.token()}`,
    [Symbol.asyncDispose]: async () => {
      await server.close(50)
      await edge[Symbol.asyncDispose]()
    },
  }
}

/** Connections that say nothing, or something without a good token. */
async function strangers(port: number, count: number, says = ''): Promise<Socket[]> {
  const sockets = await Promise.all(Array.from({ length: count }, () => opened(port)))
  for (const socket of sockets) {
    socket.on('error', () => undefined)
    socket.resume()
    if (says !== '') socket.write(says)
  }
  return sockets
}

const ask = (auth: string): string =>
  `GET /v1/runs/r HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth}\r\nConnection: close\r\n\r\n`
const kept = (auth: string): string => `GET /v1/runs/r HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth}\r\n\r\n`
const openOf = (sockets: readonly Socket[]): number => sockets.filter((socket) => !socket.destroyed).length

const SILENCE: Readonly<Record<string, string>> = {
  'say nothing': '',
  'begin a head': 'GET /v1/runs HTTP/1.1\r\nHost: x\r\nX-',
  'asked without a token': 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n',
  'asked with a bad token': 'GET /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer aaaa.bbbb.cccc\r\n\r\n',
  'ask, ask and read nothing': 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(4),
}

for (const [what, says] of Object.entries(SILENCE)) {
  test(`connections that ${what} and take up all there are make room for whoever comes (F32)`, async () => {
    await using at = await served({ maxConnections: 60, maxStrangersPerAddress: 1_000 })
    const { port } = at.server
    const idle = await strangers(port, 80, says)
    for (let n = 0; n < 10; n += 1) {
      const answer = await exchange(port, ask(at.auth), PATIENCE_MS)
      assert.is(statusOf(answer.text), 200, `${n}: ${answer.text.slice(0, 80)}`)
    }
    assert.ok(openOf(idle) > 0 && openOf(idle) <= 60, `${openOf(idle)} are left`)
    for (const socket of idle) socket.destroy()
  })
}

test('who showed a good token stays, over the API and on the pages, while strangers come by the hundred (F32)', async () => {
  await using at = await served({ maxConnections: 20, maxStrangersPerAddress: 1_000 })
  const { port, url } = at.server
  const known = await opened(port)
  const answers: string[] = []
  known.on('data', (chunk) => answers.push(chunk.toString('latin1')))
  const answered = (count: number) =>
    eventually(async () => (answers.join('').split('HTTP/1.1 200').length > count ? true : undefined), 'answers')
  known.write(kept(at.auth))
  await answered(1)
  const browser = await signedIn(at.edge)
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const page = await opened(port)
  page.write(`GET /ui/runs HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\n\r\n`)
  await within(new Promise((resolve) => page.once('data', resolve)), 'the page')
  page.resume()

  const idle = await strangers(port, 200)
  assert.is((await fetch(`${url}/healthz`)).status, 200)
  known.write(kept(at.auth))
  await answered(2)
  assert.is(page.destroyed, false)
  for (const socket of [...idle, known, page]) socket.destroy()
})

test('strangers of one address have a share: one more, and the one that was there longest goes (F32)', async () => {
  await using at = await served({ maxConnections: 1_000, maxStrangersPerAddress: 30 })
  const [oldest] = await strangers(at.server.port, 1)
  const idle = await strangers(at.server.port, 60)
  await within(closing(oldest as Socket), 'the end of the oldest')
  await eventually(async () => (openOf(idle) === 30 ? true : undefined), 'thirty are left')
  for (const socket of idle) socket.destroy()
})

test('where all are at work for somebody with a token nobody is cut for a newcomer, and there is room when one is done (F32)', async () => {
  const waiting: (() => void)[] = []
  const slow = (ledger: Ledger): Ledger => ({
    ...ledger,
    run: async (...asked) => {
      await new Promise<void>((resolve) => waiting.push(resolve))
      return ledger.run(...asked)
    },
  })
  await using at = await served({ maxConnections: 5 }, slow)
  const { port } = at.server
  const busy = Array.from({ length: 5 }, () => exchange(port, kept(at.auth), 5_000))
  await eventually(async () => (waiting.length === 5 ? true : undefined), 'all are at work')
  const refused = await exchange(port, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  assert.equal([refused.text, refused.closed], ['', true])
  for (const goOn of waiting) goOn()
  // Answered, and kept open for more: the one that fell silent first makes room.
  await eventually(async () => {
    const { text } = await exchange(port, 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    return statusOf(text) === 200 ? true : undefined
  }, 'room')
  for (const { text } of await Promise.all(busy)) assert.is(statusOf(text), 200)
})

test.run()
