import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ApiClient } from '../support/api-client.ts'
import { seededRandom, testSeed } from '../support/random.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'
import { streamedRoutes } from '../support/streamed-routes.ts'
import { eventually } from '../support/within.ts'

const test = suite('streams that are left')

/** `COUNTERSIGN_TEST_ABORTS=200` walks more of each. */
const ABORTS_PER_ROUTE = Number(process.env.COUNTERSIGN_TEST_ABORTS ?? 32)
const AT_ONCE = 16
/** Where a route answers with less, the connection is cut after its end. */
const CUT_WITHIN_BYTES = 300_000

interface Abort {
  readonly bytes: string
  /** Bytes of the answer after which the socket is destroyed; of an upload, bytes that are sent. */
  readonly after: number
}

/** Sends, reads so many bytes, and cuts the connection. Resolves when it is cut. */
function aborted({ port }: URL, { bytes, after }: Abort): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1', () => {
      socket.write(bytes)
      if (after === 0) socket.destroy()
    })
    let seen = 0
    const limit = setTimeout(() => socket.destroy(), 250)
    socket.on('data', (chunk) => {
      seen += chunk.length
      if (seen >= after) socket.destroy()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearTimeout(limit)
      resolve()
    })
  })
}

/** A cookie of a signed-in session. */
async function session({ url }: ServerProcess, token: string): Promise<string> {
  const page = await fetch(`${url}/ui/sign-in`)
  const cookies = page.headers.getSetCookie().map((line) => line.split(';')[0])
  const csrf = /name="csrf" value="([^"]*)"/.exec(await page.text())?.[1] ?? ''
  const answer = await fetch(`${url}/ui/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: cookies.join('; '), 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ csrf, token }),
  })
  assert.is(answer.status, 303)
  return answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
}

async function filled(client: ApiClient): Promise<void> {
  await client.post('/v1/runs', { id: 'r', name: 'r' })
  for (let n = 0; n < 20; n += 1) {
    const text = 'x'.repeat(20_000)
    await client.post('/v1/runs/r/envelopes', { agent: 'a', payload: { notes: { [`k${n}`]: text } } })
    await client.post('/v1/runs/r/calls', { tool: 't', args: { n, text } })
  }
}

test('readers and writers that leave at any byte of any stream end nothing but their own, and are no error (F31)', async () => {
  await using server = await startServer({ env: { COUNTERSIGN_CHECKPOINT_SECONDS: '1' } })
  const client = await server.client()
  await filled(client)
  await eventually(
    async () => ((await client.get('/v1/log/checkpoint')).status === 200 ? true : undefined),
    'a checkpoint',
  )
  const cookie = await session(server, client.token)
  const head = `Host: x\r\nAuthorization: Bearer ${client.token}\r\nCookie: ${cookie}\r\n`
  const random = seededRandom(testSeed(7))
  const below = (limit: number): number => Math.floor(random() * limit)
  const envelope = JSON.stringify({ agent: 'a', payload: { notes: 'x'.repeat(50_000) } })
  const batch = JSON.stringify({ items: [{ op: 'envelope', run: 'r', body: JSON.parse(envelope) }] })
  const upload = (path: string, body: string): Abort => {
    const whole = `POST ${path} HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    return { bytes: whole.slice(0, below(whole.length)), after: 1 }
  }
  const routes: readonly (() => Abort)[] = [
    ...streamedRoutes('r').map(({ path }) => () => ({
      bytes: `GET ${path} HTTP/1.1\r\n${head}\r\n`,
      after: below(4) === 0 ? below(2_000) : below(CUT_WITHIN_BYTES),
    })),
    () => upload('/v1/batch', batch),
    () => upload('/v1/runs/r/envelopes', envelope),
  ]
  const openFiles = (): number => readdirSync(`/proc/${server.pid}/fd`).length
  const before = openFiles()
  const url = new URL(server.url)
  let aborts = 0
  for (const route of routes) {
    for (let n = 0; n < ABORTS_PER_ROUTE; n += AT_ONCE) {
      const some = Array.from({ length: Math.min(AT_ONCE, ABORTS_PER_ROUTE - n) }, route)
      await Promise.all(some.map((abort) => aborted(url, abort)))
      aborts += some.length
    }
  }
  assert.is(aborts, routes.length * ABORTS_PER_ROUTE)

  const slots = async (): Promise<true | undefined> =>
    /^countersign_http_streams 0$/m.test((await client.get('/metrics')).text) ? true : undefined
  await eventually(slots, 'every slot given back')
  await eventually(() => (openFiles() <= before + 64 ? true : undefined), 'handles where they were')
  assert.is((await client.post('/v1/runs/r/envelopes', { agent: 'a', payload: { notes: 1 } })).status, 201)
  const bad = server.output.split('\n').filter((line) => /"level":(50|60)/.test(line) || /Error:/.test(line))
  assert.equal(bad.slice(0, 3), [])
  assert.equal(await server.stop(), { code: 0, signal: null })
})

test.run()
