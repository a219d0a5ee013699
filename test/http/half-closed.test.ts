import { connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type RunningServer, startServer } from '../../src/http/server.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { closing } from '../support/raw-http.ts'
import { type TestEdge, testEdge } from '../support/test-edge.ts'
import { eventually, within } from '../support/within.ts'

const test = suite('http: clients that close their sending side')

interface Served extends AsyncDisposable {
  readonly edge: TestEdge
  readonly server: RunningServer
  /** Head of a request with a token. */
  readonly head: (target: string, more?: string) => string
  readonly streams: () => Promise<number>
}

async function served(wrap?: (ledger: Ledger) => Ledger): Promise<Served> {
  const edge = await testEdge(wrap && { wrap })
  await edge.started('r')
  const server = await startServer({ app: edge.app, host: '127.0.0.1', port: 0, draining: edge.draining })
  const token = await edge.token()
  return {
    edge,
    server,
    head: (target, more = '') => `${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`,
    streams: async () =>
      Number(/^countersign_http_streams (\d+)/m.exec(await (await edge.get('/metrics')).text())?.[1]),
    [Symbol.asyncDispose]: async () => {
      await server.close(100)
      await edge[Symbol.asyncDispose]()
    },
  }
}

/** Sends the bytes and the end of the sending side, and reads until the server closes. */
function lastWords(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.end(bytes))
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.once('close', () => resolve(text))
    socket.once('error', reject)
  })
}

function reading(port: number, bytes: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    socket.once('data', () => resolve(socket))
    socket.once('error', reject)
  })
}

const free = (at: Served): Promise<true> =>
  eventually(async () => ((await at.streams()) === 0 ? (true as const) : undefined), 'slots of streams given back')

const bodied = (body: string): string => `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`

test('a write whose client closes its sending side right behind it is answered, and recorded once (F281)', async () => {
  await using at = await served()
  const body = '{"agent":"a","payload":{"n":"1"}}'
  const post = at.head('POST /v1/runs/r/envelopes', bodied(body)) + body
  const text = await within(lastWords(at.server.port, post))
  assert.match(text, /^HTTP\/1\.1 201 [\s\S]*"revision":1/)
  const events = (await (await at.edge.get('/v1/runs/r/events')).json()) as { items: readonly unknown[] }
  assert.is(events.items.length, 2)

  const usage = '{"agent":"a","usage":{"tokens":1}}'
  const one = at.head('POST /v1/runs/r/usage', bodied(usage)) + usage
  const both = await within(lastWords(at.server.port, one + one))
  assert.is(both.split('HTTP/1.1 201').length, 3, both)
})

/** Long enough for the end of the sending side to come in before the answer. */
const slow = (ledger: Ledger): Ledger => ({
  ...ledger,
  execute: async (...command) => {
    await setTimeout(50)
    return ledger.execute(...command)
  },
})

test('what comes behind a whole write and is no request is refused behind its answer, never in its place (F286)', async () => {
  await using at = await served(slow)
  const usage = '{"agent":"a","usage":{"tokens":1}}'
  const one = at.head('POST /v1/runs/r/usage', bodied(usage)) + usage
  for (const [rest, status] of [
    [one.slice(0, -3), 400],
    ['no request', 400],
    [`GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}`, 431],
  ] as const) {
    const text = await within(lastWords(at.server.port, one + one + rest))
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => Number(code))
    assert.equal(statuses, [201, 201, status], rest.slice(0, 20))
  }
  assert.match(await within(lastWords(at.server.port, one.slice(0, -3))), /^HTTP\/1\.1 400/)
  const events = (await (await at.edge.get('/v1/runs/r/events')).json()) as { items: readonly unknown[] }
  assert.is(events.items.length, 7)
  await free(at)
})

test('a tail and an export end with the sending side of their reader, and give their slots back (F281)', async () => {
  await using at = await served()
  for (const target of ['GET /v1/tail', 'GET /v1/runs/r/tail', 'GET /v1/export']) {
    const socket = await within(reading(at.server.port, at.head(target)))
    socket.end()
    await within(closing(socket))
    await free(at)
  }
  await within(lastWords(at.server.port, at.head('GET /v1/tail')))
  await free(at)
})

test('a claim that waits ends with the sending side of whoever waits, and is granted to nobody (F281, F34)', async () => {
  await using at = await served()
  const claim = JSON.stringify({ tool: 't', args: {}, key: 'k' })
  assert.is((await at.edge.post('/v1/runs/r/calls', claim)).status, 201)
  const waiting = at.head('POST /v1/runs/r/calls', `${bodied(claim)}Prefer: wait=20\r\n`) + claim
  assert.is(await within(lastWords(at.server.port, waiting)), '')
  await free(at)
})

test.run()
