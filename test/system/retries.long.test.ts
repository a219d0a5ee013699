import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Answer, ApiClient } from '../support/api-client.ts'
import { cuttingProxy } from '../support/cutting-proxy.ts'
import { startServer } from '../support/server-process.ts'

const test = suite('asking again')
/** Each test has runs of its own on it. */
const server = await startServer()
test.after(() => server[Symbol.asyncDispose]())

async function eventCount(client: ApiClient, run: string): Promise<number> {
  let count = 0
  for await (const line of client.lines(`/v1/runs/${run}/export`)) count += line.startsWith('{"header"') ? 1 : 0
  return count
}

/** What a client may compare between an answer and the same one given again. */
const shown = ({ status, body, headers }: Answer): object => ({
  status,
  body,
  etag: headers.etag,
  location: headers.location,
})

test('an answer cut after the commit is given again for the same key: same status, body and tag, one event (F14)', async () => {
  const direct = await server.client()
  await using proxy = await cuttingProxy(server.url)
  const cut = new ApiClient({ url: proxy.url, token: direct.token, connections: 1 })
  await direct.post('/v1/runs', { id: 'r', name: 'r', budget: { tokens: 1_000 } })

  const requests = [
    { path: '/v1/runs', body: { id: 'other', name: 'other' } },
    { path: '/v1/runs/r/envelopes', body: { agent: 'a', payload: { entities: ['Apple'] } } },
    { path: '/v1/runs/r/envelopes', body: { agent: 'a', payload: { summary: 'growth' } } },
    { path: '/v1/runs/r/calls', body: { tool: 'charge', args: { cents: 1 } } },
    { path: '/v1/runs/r/reservations', body: { agent: 'a', tokens: 900 } },
    { path: '/v1/runs/r/reservations', body: { agent: 'a', tokens: 900 } },
  ]
  for (const [index, { path, body }] of requests.entries()) {
    const key = `cut-${index}`
    proxy.cutNextAnswer()
    const lost = await cut.postOnce(path, key, body).then(
      () => 'answered',
      () => 'lost',
    )
    assert.is(lost, 'lost', path)
    assert.is(proxy.cuts(), index + 1)
    const before = await eventCount(direct, 'r')
    const again = await cut.postOnce(path, key, body)
    const oncemore = await direct.postOnce(path, key, body)
    assert.is(again.headers['idempotency-replayed'], 'true', `${path} ${again.text}`)
    assert.equal(shown(oncemore), shown(again))
    assert.is(await eventCount(direct, 'r'), before, 'nothing was written anew')
  }
  await cut.close()
})

test('the replayed answer is the first one, also after kill -9 and a restart (F14, F15)', async () => {
  const token = await server.token()
  const before = server.clientOf(token)
  await before.post('/v1/runs', { id: 'again', name: 'r' })
  const accepted = { agent: 'a', payload: { entities: ['Apple'] } }
  const refused = { agent: 'b', payload: { summary: 'growth' } }
  const first = [
    await before.postOnce('/v1/runs/again/envelopes', 'k1', accepted),
    await before.postOnce('/v1/runs/again/envelopes', 'k2', refused),
    await before.postOnce('/v1/runs/again/calls', 'k3', { tool: 't', args: {} }),
  ]
  assert.equal(
    first.map(({ status }) => status),
    [201, 409, 201],
  )

  await server.restart()
  const after = server.clientOf(token)
  const again = [
    await after.postOnce('/v1/runs/again/envelopes', 'k1', accepted),
    await after.postOnce('/v1/runs/again/envelopes', 'k2', refused),
    await after.postOnce('/v1/runs/again/calls', 'k3', { tool: 't', args: {} }),
  ]
  assert.equal(again.map(shown), first.map(shown))
  for (const answer of again) assert.is(answer.headers['idempotency-replayed'], 'true')
})

test('a key that comes back with another body is refused, also after a restart, and writes nothing of it (F15)', async () => {
  const token = await server.token()
  const before = server.clientOf(token)
  await before.postOnce('/v1/runs', 'start', { id: 'reused', name: 'r' })
  const path = '/v1/runs/reused/envelopes'
  assert.is((await before.postOnce(path, 'k', { agent: 'a', payload: { notes: 1 } })).status, 201)
  const reused = await before.postOnce(path, 'k', { agent: 'a', payload: { notes: 2 } })
  assert.is(reused.status, 422)
  assert.is(reused.body.code, 'idempotency-key-reused')

  await server.restart()
  const after = server.clientOf(token)
  for (const [where, body] of [
    [path, { agent: 'a', payload: { notes: 3 } }],
    ['/v1/runs/reused/calls', { tool: 't', args: {} }],
  ] as const) {
    const answer = await after.postOnce(where, 'k', body)
    assert.is(answer.status, 422, answer.text)
    assert.is(answer.body.code, 'idempotency-key-reused')
  }
  const started = await after.postOnce('/v1/runs', 'start', { id: 'reused', name: 'another' })
  assert.is(started.status, 422, started.text)
  assert.equal((await after.get('/v1/runs/reused/context')).body.context, { notes: 1 })
  const own = await after.postOnce(path, 'k', { agent: 'a', payload: { notes: 1 } })
  assert.is(own.status, 201, 'its own request is still answered')
})

test.run()
