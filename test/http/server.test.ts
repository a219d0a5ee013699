import { setTimeout } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { HttpSettings } from '../../src/http/app-deps.ts'
import { type RunningServer, type ServerLimits, startServer } from '../../src/http/server.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { closing, exchange, opened, statusOf } from '../support/raw-http.ts'
import { readSse } from '../support/sse-reader.ts'
import { type TestEdge, testEdge } from '../support/test-edge.ts'
import { eventually, within } from '../support/within.ts'

const test = suite('http: the server')

interface Served extends AsyncDisposable {
  readonly edge: TestEdge
  readonly server: RunningServer
  readonly auth: string
}

async function served(
  options: { limits?: Partial<ServerLimits>; settings?: Partial<HttpSettings>; wrap?: (ledger: Ledger) => Ledger } = {},
): Promise<Served> {
  const { limits = {}, ...rest } = options
  const edge = await testEdge(rest)
  await edge.started('r')
  const server = await startServer({ app: edge.app, host: '127.0.0.1', port: 0, draining: edge.draining, limits })
  return {
    edge,
    server,
    auth: `Bearer ${await edge.token()}`,
    [Symbol.asyncDispose]: async () => {
      await server.close(100)
      await edge[Symbol.asyncDispose]()
    },
  }
}

const post = (auth: string, headers: string, body = ''): string =>
  `POST /v1/runs/r/envelopes HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth}\r\nContent-Type: application/json\r\n${headers}\r\n${body}`
const envelope = '{"agent":"a","payload":{"n":"1"}}'

test('a request over the socket is answered as one without', async () => {
  await using at = await served()
  const headers = { authorization: at.auth, 'content-type': 'application/json' }
  const response = await fetch(`${at.server.url}/v1/runs/r/envelopes`, { method: 'POST', headers, body: envelope })
  assert.equal([response.status, response.headers.get('etag')], [201, '"1"'])
  assert.is(Number(response.headers.get('content-length')), (await response.arrayBuffer()).byteLength)
})

test('bodies that say two things of their length, bare line feeds and odd targets are refused, and nothing is smuggled (A23)', async () => {
  await using at = await served()
  const { port } = at.server
  const inner = 'GET /v1/runs HTTP/1.1\r\nHost: x\r\n\r\n'
  const smuggled: Record<string, string> = {
    'length and chunks': post(
      at.auth,
      `Content-Length: ${inner.length}\r\nTransfer-Encoding: chunked\r\n`,
      `0\r\n\r\n${inner}`,
    ),
    'two lengths': post(at.auth, 'Content-Length: 3\r\nContent-Length: 4\r\n', 'abcd'),
    'unknown coding': post(at.auth, 'Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'),
    'chunks twice': post(at.auth, 'Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n'),
    'bare line feeds': `GET /v1/runs HTTP/1.1\nHost: x\n\n`,
    'space before the colon': 'GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n',
    'no host': 'GET /healthz HTTP/1.1\r\n\r\n',
    'a control character': 'GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\u0001b\r\n\r\n',
  }
  for (const [name, bytes] of Object.entries(smuggled)) {
    const { text, closed } = await exchange(port, bytes)
    assert.is(statusOf(text), 400, `${name}: ${text.slice(0, 80)}`)
    assert.is(closed, true, name)
    assert.is(text.split('HTTP/1.1 ').length, 2, `${name}: one answer`)
  }
})

test('an empty Host, a foreign one and an absolute target are answered or refused, never 500 (A23)', async () => {
  await using at = await served()
  const targets = [
    'http://x/healthz',
    'http://',
    '//evil/healthz',
    '*',
    '/\\evil',
    'healthz',
    '/%',
    '/%00',
    '/v1/runs/%ff',
    '/..%2f..%2fetc',
  ]
  const hosts = ['', 'x', 'x:99999999', '[::1', 'a b', 'x/y', '@', 'x?y']
  for (const target of targets) {
    for (const host of hosts) {
      const { text } = await exchange(
        at.server.port,
        `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      )
      assert.ok([200, 303, 400, 401, 404, 405].includes(statusOf(text)), `${target} at ${host}: ${text.slice(0, 60)}`)
    }
  }
})

test('chunks without end, a length that lies and a gzip bomb get in no more than the limit (A20)', async () => {
  await using at = await served({ settings: { bodyMaxBytes: 10_000 } })
  const { port } = at.server
  const chunk = `${(4_000).toString(16)}\r\n${'x'.repeat(4_000)}\r\n`
  const endless = await exchange(port, post(at.auth, 'Transfer-Encoding: chunked\r\n', chunk.repeat(100)))
  assert.is(statusOf(endless.text), 413)
  assert.match(endless.text, /"limit":10000,"actual":1\d{4},/)
  const declared = await exchange(port, post(at.auth, 'Content-Length: 10001\r\n'))
  assert.is(statusOf(declared.text), 413)
  assert.is(declared.closed, true)
  const bomb = gzipSync(Buffer.alloc(5_000_000)).toString('latin1')
  const packed = await exchange(
    port,
    Buffer.from(post(at.auth, `Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n`, bomb), 'latin1'),
  )
  assert.is(statusOf(packed.text), 415)
  const longer = await exchange(
    port,
    post(at.auth, 'Content-Length: 2\r\nConnection: close\r\n', '{}GET /evil HTTP/1.1\r\n\r\n'),
  )
  assert.ok([400, 422].includes(statusOf(longer.text)), longer.text)
  assert.is(longer.text.split('HTTP/1.1 ').length, 2)
})

test('heads of 20 KB and tokens of a megabyte are refused by size (A7)', async () => {
  await using at = await served()
  const head = await exchange(at.server.port, `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`)
  const token = await exchange(
    at.server.port,
    `GET /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${'y'.repeat(1_000_000)}\r\n\r\n`,
  )
  assert.is(statusOf(head.text), 431)
  assert.ok([0, 431].includes(statusOf(token.text)))
  assert.is((await fetch(`${at.server.url}/healthz`)).status, 200)
})

test('connections that never finish a head are closed in time, and others are served meanwhile (A41)', async () => {
  await using at = await served({ limits: { headersTimeoutMs: 300, requestTimeoutMs: 60_000 } })
  const { port, url } = at.server
  const sockets = await Promise.all(Array.from({ length: 100 }, () => opened(port)))
  for (const socket of sockets.slice(50)) socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nX-')
  assert.is((await fetch(`${url}/healthz`)).status, 200)
  // Resolves only if the server closes each of them: the test has no other end.
  await Promise.all(sockets.map(closing))
  assert.is((await fetch(`${url}/readyz`)).status, 200)
})

test('a body that never ends and a connection that is done are closed in time (A41)', async () => {
  await using at = await served({ limits: { requestTimeoutMs: 400, headersTimeoutMs: 300, keepAliveTimeoutMs: 200 } })
  const slowBody = await opened(at.server.port)
  slowBody.write(post(at.auth, 'Content-Length: 100\r\n', '{"agent"'))
  const idle = await opened(at.server.port)
  idle.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  await Promise.all([slowBody, idle].map(closing))
  assert.is((await at.edge.get('/v1/runs/r')).headers.get('etag'), '"0"')
})

test('a reader that stops reading is cut after the silence, and its slot is free again (A43)', async () => {
  let streams = 0
  const endless = (ledger: Ledger): Ledger => ({
    ...ledger,
    tenantEvents: async function* (...asked) {
      streams += 1
      if (streams > 1) return yield* ledger.tenantEvents(...asked)
      const pages = []
      for await (const page of ledger.tenantEvents(...asked)) pages.push(page)
      for (;;) yield pages[0] ?? []
    },
  })
  await using at = await served({
    wrap: endless,
    settings: { streamsPerTenant: 1 },
    limits: { silenceTimeoutMs: 1_500 },
  })
  const socket = await opened(at.server.port)
  socket.pause()
  socket.write(`GET /v1/export HTTP/1.1\r\nHost: x\r\nAuthorization: ${at.auth}\r\n\r\n`)
  const status = async (): Promise<number> => {
    const response = await at.edge.get('/v1/export')
    await response.body?.cancel()
    return response.status
  }
  await eventually(() => (streams === 1 ? true : undefined), 'the stream')
  assert.is(await status(), 429, 'the slot is taken')
  await eventually(async () => ((await status()) === 200 ? true : undefined), 'a free slot')
  socket.destroy()
})

test('whoever waits for an answer that takes long is not cut off: only a reader that stopped reading is (F180)', async () => {
  const silenceTimeoutMs = 100
  const slow = (ledger: Ledger): Ledger => ({
    ...ledger,
    execute: async (...command) => {
      await setTimeout(5 * silenceTimeoutMs)
      return ledger.execute(...command)
    },
  })
  await using at = await served({ wrap: slow, limits: { silenceTimeoutMs } })
  const headers = { authorization: at.auth, 'content-type': 'application/json' }
  const response = await fetch(`${at.server.url}/v1/runs/r/envelopes`, { method: 'POST', headers, body: envelope })
  assert.is(response.status, 201)
})

test('a server that closes finishes requests, ends tails with their id, and is gone long before its grace is over (F24)', async () => {
  let [finish, reach] = [() => {}, () => {}]
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })
  const slow = (ledger: Ledger): Ledger => ({
    ...ledger,
    execute: async (...asked) => {
      await new Promise<void>((resolve) => {
        finish = resolve
        reach()
      })
      return ledger.execute(...asked)
    },
  })
  await using edge = await testEdge()
  await edge.started('r')
  await using slowEdge = await testEdge({
    store: edge.inner.store,
    keys: edge.inner.keys.current(),
    tenant: edge.tenant,
    wrap: slow,
  })
  const server = await startServer({ app: slowEdge.app, host: '127.0.0.1', port: 0, draining: slowEdge.draining })
  const headers = { authorization: `Bearer ${await slowEdge.token()}`, 'content-type': 'application/json' }
  const tail = readSse(await fetch(`${server.url}/v1/runs/r/tail`, { headers }))
  await tail.until('caught-up')
  const posted = fetch(`${server.url}/v1/runs/r/envelopes`, { method: 'POST', headers, body: envelope })
  const idle = await opened(server.port)
  await within(reached, 'the request')

  const graceMs = 10 * 60_000
  const closed = server.close(graceMs)
  const last = (await tail.rest()).at(-1)
  assert.ok(last?.id)
  const refused = await fetch(`${server.url}/healthz`).then(
    () => 'answered',
    () => 'refused',
  )
  assert.is(refused, 'refused')
  finish()
  assert.is((await posted).status, 201)
  await within(closed, 'the end, long before the grace is over')
  await within(closing(idle), 'the end of an idle connection')
})

test('what does not end within the grace is cut', async () => {
  let reach = (): void => undefined
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })
  const never = (ledger: Ledger): Ledger => ({
    ...ledger,
    run: () => {
      reach()
      return new Promise(() => undefined)
    },
  })
  await using edge = await testEdge({ wrap: never })
  const server = await startServer({ app: edge.app, host: '127.0.0.1', port: 0, draining: edge.draining })
  const hanging = fetch(`${server.url}/v1/runs/r`, { headers: { authorization: `Bearer ${await edge.token()}` } }).then(
    () => 'answered',
    () => 'cut',
  )
  await within(reached, 'the request')
  await server.close(100)
  assert.is(await hanging, 'cut')
})

test('a port that is taken is an error that names itself', async () => {
  await using at = await served()
  const second = await startServer({ app: at.edge.app, host: '127.0.0.1', port: at.server.port }).then(
    () => '',
    (error: NodeJS.ErrnoException) => error.code,
  )
  assert.is(second, 'EADDRINUSE')
})

test('an export that breaks over the socket is cut, so that no reader takes it for whole (F30)', async () => {
  const breaking = (ledger: Ledger): Ledger => ({
    ...ledger,
    tenantEvents: async function* (...asked) {
      for await (const page of ledger.tenantEvents(...asked)) yield page
      throw new Error('disk gone')
    },
  })
  await using at = await served({ wrap: breaking })
  const response = await fetch(`${at.server.url}/v1/export`, { headers: { authorization: at.auth } })
  const read = await response.text().then(
    () => 'whole',
    () => 'cut',
  )
  assert.is(read, 'cut')
})

test.run()
