import { randomBytes } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startServer } from '../../src/http/server.ts'
import { MemoryBudget } from '../../src/resources/memory-budget.ts'
import { rotateTokenKeys } from '../../src/signing/ledger-keys.ts'
import type { TrustedIssuer } from '../../src/signing/tokens.ts'
import { opened } from '../support/raw-http.ts'
import { drive } from '../support/run-driver.ts'
import { readSse } from '../support/sse-reader.ts'
import { streamedRoutes } from '../support/streamed-routes.ts'
import { type TestEdge, type TestEdgeOptions, testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'
import { within } from '../support/within.ts'

const test = suite('http: streams and their tokens')

/** What is streamed in many portions, so that it is still open when the token ends. */
const OPEN = streamedRoutes('r').filter(({ path, endless }) => endless || /export|bundle|replay/.test(path))

/** More than the buffers of two sockets, those of Linux at their largest (36 MiB), and what the server has under way. */
const SOCKETS_HOLD_BYTES = 50 * 1024 * 1024

interface Home extends AsyncDisposable {
  readonly edge: TestEdge
  readonly clock: { nowMs: number }
  readonly issuers: { trusted: readonly TrustedIssuer[] }
}

async function openHome(values?: TestEdgeOptions['values']): Promise<Home> {
  const clock = { nowMs: Date.now() }
  const issuers: Home['issuers'] = { trusted: [] }
  const edge = await testEdge({
    merkleLogs: true,
    audit: 'unrecorded',
    // All of them are open at once.
    memory: new MemoryBudget(8 * 1024 ** 3),
    settings: { tokenCheckMs: 5, heartbeatMs: 60_000 },
    now: () => clock.nowMs,
    trusted: () => issuers.trusted,
    ...(values && { values }),
  })
  const run = drive(edge.inner, 'r', { tenant: edge.tenant, actor: 'alice' })
  await run.start()
  for (let n = 0; n < 12; n += 1) await run.hand('a', { [`k${n}`]: 'x'.repeat(50_000) })
  await edge.inner.ledger.logs?.publish()
  return { edge, clock, issuers, [Symbol.asyncDispose]: () => edge[Symbol.asyncDispose]() }
}

/** Opens every stream under what `ask` sends, calls `end`, and reads on: says which were whole, which cut, which ended as a tail ends. */
async function endedBy(ask: (path: string) => Promise<Response>, paths: readonly string[], end: () => Promise<void>) {
  const readers = []
  for (const path of paths) {
    const response = await ask(path)
    assert.is(response.status, 200, path)
    const reader = response.body?.getReader()
    assert.is((await reader?.read())?.done, false, path)
    readers.push({ path, reader })
  }
  await end()
  const ends: Record<string, 'cut' | 'ended'> = {}
  for (const { path, reader } of readers) {
    // Nothing is read in between: the stream must end without its reader's help.
    await within(reader?.closed.catch(() => undefined) ?? Promise.resolve(), `the end of ${path}`)
    ends[path] = await (async () => {
      try {
        while ((await reader?.read())?.done === false);
        return 'ended'
      } catch {
        return 'cut'
      }
    })()
  }
  return ends
}

const cutAll = (paths: readonly string[]) => Object.fromEntries(paths.map((path) => [path, 'cut']))

test('every open stream ends with its token, unread as it is, and none of them as if it were whole (HTTP-12, F33)', async () => {
  await using home = await openHome()
  const { edge, clock } = home
  const [api, pages] = [OPEN.filter(({ page }) => !page), OPEN.filter(({ page }) => page)].map((routes) =>
    routes.map(({ path }) => path),
  ) as [string[], string[]]
  assert.ok(api.length >= 14 && pages.length >= 5)

  // A key that is replaced, the day it happens.
  const retire = async (): Promise<void> => {
    const at = new Date(clock.nowMs).toISOString()
    edge.inner.keys.replace(rotateTokenKeys(edge.inner.keys.current(), at, randomBytes))
  }
  const token = await edge.token()
  const ask = async (path: string) => edge.app.request(path, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(await endedBy(ask, api, retire), cutAll(api))
  assert.is((await ask('/v1/runs')).status, 401)

  // A token that expires.
  const browser = await signedIn(edge)
  const expire = async (): Promise<void> => {
    clock.nowMs += 600_000
  }
  assert.equal(await endedBy((path) => browser.get(path), pages, expire), cutAll(pages))

  // An issuer that is taken out of the list.
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  home.issuers.trusted = [
    {
      issuer: 'partner',
      jwks: { keys: [{ ...(await exportJWK(publicKey)) }] },
      algorithms: ['ES256'],
      tenants: ['*'],
    },
  ]
  const seconds = Math.floor(clock.nowMs / 1000)
  const claims = { sub: 'auditor', tenant: edge.tenant, scope: 'audit:export audit:read runs:read' }
  const foreign = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
    .setIssuer('partner')
    .setAudience('test-audience')
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + 3_600)
    .sign(privateKey)
  const asPartner = async (path: string) => edge.app.request(path, { headers: { authorization: `Bearer ${foreign}` } })
  const remove = async (): Promise<void> => {
    home.issuers.trusted = []
  }
  assert.equal(await endedBy(asPartner, api, remove), cutAll(api))
})

test('a tail that is read ends with the id to resume from when its token ends, and its slot is free (HTTP-12)', async () => {
  await using home = await openHome()
  const { edge, clock } = home
  const sse = readSse(await edge.get('/v1/runs/r/tail'))
  await sse.until('caught-up')
  clock.nowMs += 600_000
  const rest = await within(sse.rest(), 'the end of the tail')
  assert.is(rest.length, 1)
  assert.ok(rest[0]?.id !== undefined)
  const metrics = await edge.app.request('/metrics', { headers: { authorization: `Bearer ${await edge.token()}` } })
  assert.match(await metrics.text(), /^countersign_http_streams 0$/m)
})

/** Once the server lets go of the stream, whatever the client does. */
async function untilEnded(edge: Home['edge']): Promise<void> {
  const open = async (): Promise<boolean> => {
    const metrics = await edge.app.request('/metrics', { headers: { authorization: `Bearer ${await edge.token()}` } })
    return !/^countersign_http_streams 0$/m.test(await metrics.text())
  }
  while (await open()) await new Promise((resolve) => setTimeout(resolve, 10))
}

/** A server that ends with its test, also where that fails. */
async function served(edge: Home['edge']): Promise<{ readonly port: number } & AsyncDisposable> {
  const server = await startServer({ app: edge.app, host: '127.0.0.1', port: 0, draining: edge.draining })
  return { port: server.port, [Symbol.asyncDispose]: () => server.close(100) }
}

test('over a socket, an export that nobody reads is cut when its token ends: no trailer, no last chunk (HTTP-12)', async () => {
  // Arguments of this length stand in their events, and so in the export, only where the limit is that high.
  await using home = await openHome({ inlineMaxBytes: 512 * 1024 })
  const { edge, clock } = home
  const run = drive(edge.inner, 'r', { tenant: edge.tenant, actor: 'alice' })
  for (let n = 0; n < 140; n += 1) await run.called('ship', { args: { text: 'x'.repeat(400_000), n } })
  const { byteLength } = await (await edge.get('/v1/export')).arrayBuffer()
  assert.ok(byteLength > SOCKETS_HOLD_BYTES, `an export of ${byteLength} bytes fits into the buffers of two sockets`)
  await using server = await served(edge)
  const socket = await opened(server.port)
  let text = ''
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.on('error', () => undefined)
  socket.write(`GET /v1/export HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${await edge.token()}\r\n\r\n`)
  await new Promise<void>((resolve) =>
    socket.once('data', (chunk) => {
      text += chunk.toString('latin1')
      socket.pause()
      resolve()
    }),
  )
  clock.nowMs += 600_000
  await within(untilEnded(edge), 'the end of the stream')
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket.resume()
  await within(closed, 'the end of the connection')
  assert.match(text, /^HTTP\/1\.1 200 OK/)
  assert.not.match(text.slice(-10_000), /"trailer"|\r\n0\r\n\r\n$/, `${text.length} characters: ${text.slice(-300)}`)
  assert.equal(
    edge.logs.filter(({ level }) => level === 'error'),
    [],
  )
})

test.run()
