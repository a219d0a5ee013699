import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { eventCursor } from '../../src/http/event-cursor.ts'
import { tailScope } from '../../src/http/sse.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { readSse } from '../support/sse-reader.ts'
import { bearer, bodyOf, type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('http: tails')

const step = (edge: TestEdge, run: string, n: number) =>
  edge.post(`/v1/runs/${run}/envelopes`, { agent: 'a', payload: { n: `${n}` } })

test('a tail begins with an id alone, then history, caught-up, and what comes (HTTP-6)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const response = await edge.get('/v1/runs/r/tail')
  assert.is(response.headers.get('content-type'), 'text/event-stream')
  assert.is(response.headers.get('x-accel-buffering'), 'no')
  const tail = readSse(response)
  const priming = await tail.next()
  assert.ok(priming?.id)
  assert.equal([priming?.event, priming?.data], [undefined, undefined])
  assert.equal(
    (await tail.until('caught-up')).map(({ event }) => event),
    ['RunStarted', 'caught-up'],
  )
  await step(edge, 'r', 1)
  const live = await tail.next()
  assert.is(live?.event, 'EnvelopeAccepted')
  const { header, salt, data, digest } = JSON.parse(live?.data ?? '')
  assert.equal([header.revision, data.step, typeof salt, digest.length], [1, 1, 'string', 71])
  await tail.close()
})

test('a reader that comes back with its last id, by header or query, misses nothing and gets nothing twice (HTTP-6)', async () => {
  await using edge = await testEdge()
  await edge.started('r', { policy: { suspect: 'refuse' } })
  for (let n = 0; n < 5; n += 1) await step(edge, 'r', n)
  const all = (await readSse(await edge.get('/v1/runs/r/tail')).until('caught-up')).slice(1, -1)
  assert.is(all.length, 10)
  for (const [index, frame] of all.entries()) {
    const expected = all.slice(index + 1).map(({ id }) => id)
    const byHeader = await readSse(await edge.get('/v1/runs/r/tail', { 'last-event-id': frame.id ?? '' })).until(
      'caught-up',
    )
    const byQuery = await readSse(await edge.get(`/v1/runs/r/tail?after=${frame.id}`)).until('caught-up')
    assert.is(byHeader[0]?.id, frame.id)
    assert.equal(
      byHeader.slice(1, -1).map(({ id }) => id),
      expected,
    )
    assert.equal(byQuery, byHeader)
  }
})

test('a tail from an id that leads nowhere says once to resync, and everything follows anew (STR-29)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const end = (await edge.inner.ledger.end()) ?? ''
  // The event there is another, and a position of another kind of store: as after a copy or a restore.
  for (const place of [end, '77/77']) {
    const id = eventCursor(edge.inner.ledger.places, tailScope(edge.tenant), { position: place, id: 'another' })
    const frames = await readSse(await edge.get('/v1/runs/r/tail', { 'last-event-id': id })).until('caught-up')
    assert.equal(
      frames.slice(1).map(({ event }) => event),
      ['resync', 'RunStarted', 'caught-up'],
    )
    assert.is(JSON.parse(frames[1]?.data ?? '').state, '/v1/runs/r')
  }
})

test("a tenant's tail shows all its runs; a run's tail shows that run", async () => {
  await using edge = await testEdge()
  await edge.started('one')
  await edge.started('two')
  await edge.post('/v1/runs', { id: 'foreign', name: 'x' }, await bearer(edge, { tenant: edge.foreign }))
  const streams = async (path: string) =>
    (await readSse(await edge.get(path)).until('caught-up')).flatMap(({ data }) =>
      data ? (JSON.parse(data).header?.stream ?? []) : [],
    )
  assert.equal(await streams('/v1/tail'), [`run-${edge.tenant}.one`, `run-${edge.tenant}.two`])
  assert.equal(await streams('/v1/runs/two/tail'), [`run-${edge.tenant}.two`])
})

test('silence is broken by comments', async () => {
  await using edge = await testEdge({ settings: { heartbeatMs: 5 } })
  await edge.started('r')
  const tail = readSse(await edge.get('/v1/runs/r/tail'))
  await tail.until('caught-up')
  assert.is((await tail.next())?.comment, true)
  assert.is((await tail.next())?.comment, true)
  await step(edge, 'r', 1)
  const frames = await tail.until('EnvelopeAccepted')
  assert.equal(
    frames.filter(({ comment }) => !comment).map(({ event }) => event),
    ['EnvelopeAccepted'],
  )
  await tail.close()
})

test('a server that stops ends every tail with the id to resume from (F24)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const tail = readSse(await edge.get('/v1/runs/r/tail'))
  const seen = await tail.until('caught-up')
  edge.draining.abort()
  const rest = await tail.rest()
  assert.equal(
    rest.map(({ id, event }) => [id, event]),
    [[seen[1]?.id, undefined]],
  )
  const late = await readSse(await edge.get('/v1/runs/r/tail')).rest()
  assert.ok(late.length >= 1, 'one that comes while it stops is ended at once')
})

test('a tail ends when its token does', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  // Within the tolerance of clocks the token is still taken; its tail is over at once.
  const tail = readSse(
    await edge.get('/v1/runs/r/tail', await bearer(edge, { ttlSeconds: 1, now: Date.now() - 2_000 })),
  )
  assert.ok((await tail.rest()).length >= 1)
})

test('a reader that does not read is not read for, and a tenant has so many streams and no more (A43, F20)', async () => {
  let pages = 0
  const counting = (ledger: Ledger): Ledger => ({
    ...ledger,
    tail: async function* (...asked) {
      for await (const page of ledger.tail(...asked)) {
        pages += 1
        yield page
      }
    },
  })
  await using edge = await testEdge({ settings: { streamsPerTenant: 3 }, wrap: counting })
  await edge.started('r')
  for (let n = 0; n < 200; n += 1) await step(edge, 'r', n)
  const paused = await Promise.all(Array.from({ length: 3 }, () => edge.get('/v1/tail')))
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.is(pages, 0)

  const tooMany = await edge.get('/v1/runs/r/export')
  assert.equal([tooMany.status, (await bodyOf(tooMany)).code], [429, 'too-many-streams'])
  assert.ok(tooMany.headers.get('retry-after'))
  assert.is((await edge.get('/v1/export', await bearer(edge, { tenant: edge.foreign }))).status, 200)
  await paused[0]?.body?.cancel()
  assert.is((await edge.get('/v1/runs/r/export')).status, 200)
})

test('a HEAD of a stream holds nothing open', async () => {
  await using edge = await testEdge({ settings: { streamsPerTenant: 1 } })
  await edge.started('r')
  const headers = await bearer(edge, {})
  for (let n = 0; n < 5; n += 1) {
    for (const path of ['/v1/tail', '/v1/export', '/v1/runs/r/tail', '/v1/runs/r/replay']) {
      const response = await edge.app.request(path, { method: 'HEAD', headers })
      assert.equal([response.status, await response.text()], [200, ''])
    }
  }
})

test.run()
