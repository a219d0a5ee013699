import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createClient } from '../../src/client/client.ts'
import { UnreachableError } from '../../src/client/errors.ts'
import { keptFetch } from '../../src/egress/kept-fetch.ts'

const test = suite('requests of the SDK on kept connections')

// Before `node:http`: with Node 22, importing it sets a dispatcher, which nothing tells from one of the program.
keptFetch()
const { createServer } = await import('node:http')

const OF_FETCH = Symbol.for('undici.globalDispatcher.1')
const globals = globalThis as { [OF_FETCH]?: unknown }

/** Answers every command; `sockets` counts connections, `byFetch` the requests that Node's `fetch` sent. */
async function listening(status = 201) {
  const sockets = new Set<unknown>()
  const seen = { byFetch: 0, requests: 0, bodies: [] as string[] }
  const server = createServer(async (request: IncomingMessage, response) => {
    sockets.add(request.socket)
    seen.requests += 1
    if (request.headers['sec-fetch-mode'] !== undefined) seen.byFetch += 1
    let body = ''
    for await (const part of request) body += String(part)
    seen.bodies.push(body)
    response.writeHead(status, { 'content-type': 'application/json', etag: '"7"', location: '/elsewhere' })
    response.end('{"callId":"c","code":"not-found"}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = createClient({ url, token: 't', retries: 0, fetch: keptFetch() })
  const claim = () => client.execute('r', { kind: 'claim', body: { tool: 't', args: { text: 'ü' } } })
  return {
    ...{ claim, url, seen, sockets },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const faultOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => undefined,
    (error: unknown) => error,
  )

test('commands in a row take kept connections and no fetch, and the fetch of the program keeps its dispatcher (RUN-279)', async () => {
  await using ledger = await listening()
  const before = globals[OF_FETCH]
  for (let n = 0; n < 5; n += 1) {
    const { created, body } = await ledger.claim()
    assert.equal([created, body.callId], [true, 'c'])
  }
  // An answer may be there before its connection is free again.
  assert.ok(ledger.sockets.size <= 2)
  assert.equal([ledger.seen.byFetch, ledger.seen.requests], [0, 5])
  assert.ok(ledger.seen.bodies.every((body) => body.includes('"ü"')))
  assert.ok(before === undefined || globals[OF_FETCH] === before)
  if (before === undefined) assert.not.match(String(globals[OF_FETCH]?.constructor.name), /Wrapper/)
})

test('a program that has a fetch or a dispatcher of its own is reached by it (A578)', async () => {
  await using ledger = await listening()
  await ledger.claim()
  const { fetch } = globalThis
  const nodes = globals[OF_FETCH] as { dispatch: (...args: unknown[]) => boolean }
  let dispatched = 0
  const own = {
    dispatch: (...args: unknown[]) => {
      dispatched += 1
      return nodes.dispatch(...args)
    },
  }
  globals[OF_FETCH] = own
  try {
    await ledger.claim()
  } finally {
    globals[OF_FETCH] = nodes
  }
  assert.equal([dispatched, ledger.seen.byFetch], [1, 1])

  let fetched = 0
  globalThis.fetch = (...args) => {
    fetched += 1
    return fetch(...args)
  }
  try {
    await ledger.claim()
  } finally {
    globalThis.fetch = fetch
  }
  assert.equal([fetched, ledger.seen.byFetch], [1, 2])
  await ledger.claim()
  assert.equal([dispatched, fetched, ledger.seen.byFetch, ledger.seen.requests], [1, 1, 2, 4])
})

test('a redirect is not followed, and a refusal and an unreachable ledger are told as by fetch (A578)', async () => {
  await using moved = await listening(307)
  const redirected = await faultOf(moved.claim())
  assert.instance(redirected, UnreachableError)
  assert.match(String(redirected), /unexpected redirect/)
  assert.is(moved.seen.requests, 1)

  await using refusing = await listening(404)
  const refused = (await faultOf(refusing.claim())) as { status?: number; revision?: number; code?: string }
  assert.equal([refused.status, refused.revision, refused.code], [404, 7, 'not-found'])

  const closed = await listening()
  await closed[Symbol.asyncDispose]()
  const nowhere = createClient({ url: closed.url, token: 't', retries: 0, fetch: keptFetch() })
  const away = await faultOf(nowhere.execute('r', { kind: 'claim', body: { tool: 't', args: {} } }))
  assert.instance(away, UnreachableError)
  assert.match(String(away), /ECONNREFUSED/)
})

test.run()
