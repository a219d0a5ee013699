import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { bodyOf, type TestEdge, testEdge } from '../support/test-edge.ts'
import { eventually } from '../support/within.ts'

const test = suite('http: claims that wait')

const call = { tool: 'pay', args: { amount: 1 } }

async function claimed(edge: TestEdge): Promise<{ callId: string; fence: number }> {
  await edge.started('r')
  return bodyOf(await edge.post('/v1/runs/r/calls', call))
}

/** Counts the readers that have caught up: only they are woken by what comes. */
function watched(): { readonly wrap: (ledger: Ledger) => Ledger; readonly waiting: (count: number) => Promise<void> } {
  let caughtUp = 0
  const wrap = (ledger: Ledger): Ledger => ({
    ...ledger,
    tail: async function* (...asked) {
      for await (const page of ledger.tail(...asked)) {
        if (page === 'caught-up') caughtUp += 1
        yield page
      }
    },
  })
  const waiting = async (count: number): Promise<void> => {
    await eventually(() => (caughtUp >= count ? true : undefined), `${count} readers`)
  }
  return { wrap, waiting }
}

test('a claim that would rather wait gets the outcome when the call settles', async () => {
  const readers = watched()
  await using edge = await testEdge({ wrap: readers.wrap })
  const { callId, fence } = await claimed(edge)
  const waiting = Promise.all(
    Array.from({ length: 3 }, () => edge.post('/v1/runs/r/calls', call, { prefer: 'respond-async, wait=20' })),
  )
  await readers.waiting(3)
  await edge.post('/v1/runs/r/calls', { tool: 'other', args: 1 })
  await edge.post(`/v1/runs/r/calls/${callId}/renew`, { fence })
  await edge.post(`/v1/runs/r/calls/${callId}/settle`, { fence, result: 'paid' })
  for (const response of await waiting) assert.equal([response.status, (await bodyOf(response)).result], [200, 'paid'])
})

test('a claim that waits hears of a failure too, and may then run the call itself', async () => {
  const readers = watched()
  await using edge = await testEdge({ wrap: readers.wrap })
  const { callId, fence } = await claimed(edge)
  const waiting = edge.post('/v1/runs/r/calls', call, { prefer: 'wait=20' })
  await readers.waiting(1)
  await edge.post(`/v1/runs/r/calls/${callId}/settle`, { fence, error: { message: 'refused' } })
  const response = await waiting
  assert.equal([response.status, (await bodyOf(response)).status], [201, 'claimed'])
})

test('without a wish to wait, with an unusable one, or when the time is over, it is 409 with Retry-After', async () => {
  await using edge = await testEdge()
  await claimed(edge)
  for (const prefer of [undefined, 'wait=x', 'return=minimal', 'wait=0']) {
    const response = await edge.post('/v1/runs/r/calls', call, prefer === undefined ? {} : { prefer })
    assert.equal([response.status, (await bodyOf(response)).code], [409, 'call-in-progress'])
    assert.ok(Number(response.headers.get('retry-after')) >= 1)
  }
})

test('a claim that waits asks again once when the lease and the grace after it are over, not over and over', async () => {
  let asked = 0
  const wrap = (ledger: Ledger): Ledger => ({
    ...ledger,
    execute: (...command) => {
      asked += 1
      return ledger.execute(...command)
    },
  })
  await using edge = await testEdge({ wrap })
  await edge.started('r')
  await edge.post('/v1/runs/r/calls', { ...call, leaseMs: 1_000 })
  asked = 0
  const response = await edge.post('/v1/runs/r/calls', call, { prefer: 'wait=30' })
  assert.equal([response.status, (await bodyOf(response)).code], [409, 'call-in-doubt'])
  assert.is(asked, 3, 'at once, before it waits, and after')
})

test('a server that stops lets waiting claims go with 409', async () => {
  const readers = watched()
  await using edge = await testEdge({ wrap: readers.wrap })
  await claimed(edge)
  const waiting = edge.post('/v1/runs/r/calls', call, { prefer: 'wait=30' })
  await readers.waiting(1)
  edge.draining.abort()
  assert.is((await waiting).status, 409)
})

test('waiting claims count among the streams of the tenant: one too many does not wait', async () => {
  const readers = watched()
  await using edge = await testEdge({ settings: { streamsPerTenant: 1 }, wrap: readers.wrap })
  await claimed(edge)
  const first = edge.post('/v1/runs/r/calls', call, { prefer: 'wait=30' })
  await readers.waiting(1)
  assert.is((await edge.post('/v1/runs/r/calls', call, { prefer: 'wait=30' })).status, 409)
  edge.draining.abort()
  assert.is((await first).status, 409)
})

test.run()
