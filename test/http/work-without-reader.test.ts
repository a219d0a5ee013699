import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ledgerStream, runStream } from '../../schemas/names.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { type BreakingStore, breakingStore } from '../support/breaking-store.ts'
import { collect } from '../support/records.ts'
import { drive } from '../support/run-driver.ts'
import { bodyOf, type TestEdge, type TestEdgeOptions, testEdge } from '../support/test-edge.ts'
import { openTestStore, ownTenant } from '../support/test-store.ts'
import { signedIn } from '../support/ui-client.ts'
import { eventually, within } from '../support/within.ts'

const test = suite('http: work whose reader has left')

/** Reads of its stream that one walk through the run takes, at least. */
const READS = 10

interface Home extends AsyncDisposable {
  readonly edge: TestEdge
  readonly store: BreakingStore
  readonly slots: () => Promise<number>
  /** The n-th read of the run from now on waits until `goOn` is called. */
  readonly holdRead: (n: number) => { readonly reached: Promise<void>; readonly goOn: () => void }
}

async function openHome(options: TestEdgeOptions = {}): Promise<Home> {
  const tenant = ownTenant('acme')
  // Of the run alone: where tests share a store, followers of the ledger read what others write.
  const store = breakingStore(await openTestStore(), (stream) => stream === runStream(tenant, 'r'))
  const edge = await testEdge({ store, merkleLogs: true, audit: 'unrecorded', tenant, ...options })
  const run = drive(edge.inner, 'r', { tenant: edge.tenant, actor: 'alice' })
  await run.start({ policy: { suspect: 'refuse' } })
  for (let n = 0; n < 8 * READS; n += 1) await run.hand('a', { [`k${n}`]: `word ${n}` })
  await edge.inner.ledger.logs?.publish()
  return {
    edge,
    store,
    slots: async () => Number(/^countersign_http_streams (\d+)/m.exec(await (await edge.get('/metrics')).text())?.[1]),
    holdRead: (n) => {
      let goOn = (): void => undefined
      const held = new Promise<void>((resolve) => {
        goOn = resolve
      })
      const reached = new Promise<void>((resolve) => {
        store.breakAt(n, () => {
          resolve()
          return held
        })
      })
      return { reached, goOn }
    },
    [Symbol.asyncDispose]: () => edge[Symbol.asyncDispose](),
  }
}

const free = (home: Home): Promise<true> =>
  eventually(
    async () => ((await home.slots()) === 0 && home.store.open === 0 ? true : undefined),
    'slot and readers given back',
  )

test('an export resumed at offset=10^12 holds its slot while it runs, gives nothing, and ends when its reader leaves (F34)', async () => {
  await using home = await openHome({ settings: { streamsPerTenant: 1 } })
  const { edge, store } = home
  const first = await edge.get('/v1/runs/r/export')
  const cursor = first.headers.get('countersign-export-cursor')
  await first.text()
  const path = `/v1/runs/r/export?cursor=${cursor}&offset=1000000000000`

  const response = await edge.get(path)
  assert.is(response.status, 200)
  const { reached, goOn } = home.holdRead(3)
  const reader = response.body?.getReader()
  const reading = reader?.read()
  await within(reached, 'the third read')
  assert.is(await home.slots(), 1)
  assert.is((await edge.get(path)).status, 429, 'its slot is taken')
  const leaving = reader?.cancel()
  assert.is(await home.slots(), 1, 'a read that is under way is waited for')
  goOn()
  assert.is((await within(reading ?? Promise.reject(), 'the read of the body'))?.done, true)
  await within(leaving ?? Promise.reject(), 'the end of the export')
  await free(home)
  assert.ok(store.reads < READS, `${store.reads} reads`)
})

test('an export and a bundle that are left before their first byte are on record as cut (F34)', async () => {
  await using home = await openHome()
  const { edge } = home
  for (const path of ['/v1/export', '/v1/runs/r/export', '/v1/export?types=EnvelopeAccepted', '/v1/bundle']) {
    const response = await edge.get(path)
    assert.is(response.status, 200, path)
    await response.body?.cancel()
    const records = await collect(edge.inner.store.readStream(ledgerStream(edge.tenant)))
    const [started, issued] = records.slice(-2).map(({ header, data }) => ({
      type: JSON.parse(header).type,
      ...JSON.parse(data),
    }))
    assert.equal([started.type, issued.type, issued.outcome], ['ExportStarted', 'ExportIssued', 'cut'], path)
    assert.equal([issued.exportId, issued.events, issued.bytes], [started.exportId, 0, 0], path)
  }
  await free(home)
})

test('verifying a run on its page ends when its reader leaves, and when the session ends (F34)', async () => {
  await using home = await openHome()
  const { edge, store } = home
  const left = new AbortController()
  const browser = await signedIn(edge)
  await browser.html('/ui/runs/r')
  const ways: Record<string, () => Promise<void>> = {
    'the session ends': async () => {
      await browser.post('/ui/sign-out', {})
    },
    'the reader leaves': async () => left.abort(),
  }
  for (const [way, leave] of Object.entries(ways)) {
    const again = way === 'the session ends' ? browser : await signedIn(edge)
    const csrf = /name="csrf" value="([^"]*)"/.exec(await again.html('/ui/runs/r'))?.[1] ?? ''
    const cookie = [...again.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const { reached, goOn } = home.holdRead(5)
    const asked = edge.app.request('/ui/runs/r/verify', {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ csrf }).toString(),
      signal: left.signal,
    })
    await within(reached, way)
    assert.is(await home.slots(), 1, way)
    await leave()
    goOn()
    assert.is((await within(Promise.resolve(asked), way)).status, 303, way)
    await free(home)
    assert.ok(store.reads < READS, `${way}: ${store.reads} reads`)
  }
  assert.equal(
    edge.logs.filter(({ level }) => level === 'error'),
    [],
  )
})

test('a long reading of the API ends with its token, as 401 (F34)', async () => {
  const clock = { nowMs: Date.now(), asks: 0 }
  const now = (): number => {
    clock.asks += 1
    return clock.nowMs
  }
  await using home = await openHome({ now, settings: { tokenCheckMs: 5 } })
  const { edge } = home
  const { reached, goOn } = home.holdRead(3)
  const asked = edge.get('/v1/runs/r/context?revision=150')
  await within(reached, 'the third read')
  clock.nowMs += 600_000
  const { asks } = clock
  // Nothing else reads the clock while the only request waits: then the token was judged.
  await eventually(() => (clock.asks > asks ? true : undefined), 'a look at the token')
  goOn()
  assert.is((await within(asked, 'the answer')).status, 401)
})

for (const way of ['leaves', 'has left before it waits', 'may no longer ask']) {
  test(`a claim whose caller ${way} waits no longer, and is granted to nobody (F34)`, async () => {
    const clock = { nowMs: Date.now() }
    const left = new AbortController()
    let [claims, waiting] = [0, 0]
    const wrap = (ledger: Ledger): Ledger => ({
      ...ledger,
      execute: (caller, run, command, info) => {
        if (command.kind === 'claim') claims += 1
        if (claims > 0 && way === 'has left before it waits') left.abort()
        return ledger.execute(caller, run, command, info)
      },
      tail: async function* (...asked) {
        for await (const page of ledger.tail(...asked)) {
          if (page === 'caught-up') waiting += 1
          yield page
        }
      },
    })
    const options = { wrap, now: () => clock.nowMs, settings: { tokenCheckMs: 5 } }
    await using edge = await testEdge(options)
    await edge.started('r')
    const call = { tool: 'pay', args: { amount: 1 } }
    const body = JSON.stringify(call)
    const headers = { authorization: `Bearer ${await edge.token()}`, 'content-type': 'application/json' }
    const first = await edge.app.request('/v1/runs/r/calls', { method: 'POST', headers, body })
    const { callId, fence } = await bodyOf(first)
    claims = 0
    const asked = edge.app.request('/v1/runs/r/calls', {
      method: 'POST',
      headers: { ...headers, prefer: 'wait=20' },
      body,
      signal: left.signal,
    })
    if (way !== 'has left before it waits') {
      await eventually(() => (waiting > 0 ? true : undefined), 'the claim waits')
      if (way === 'leaves') left.abort()
      else clock.nowMs += 600_000
    }
    const answer = await within(Promise.resolve(asked), 'the answer')
    assert.equal([answer.status, claims], [409, way === 'has left before it waits' ? 1 : 2])
    clock.nowMs = Date.now()
    const failed = { fence, error: { message: 'refused' } }
    assert.is((await edge.post(`/v1/runs/r/calls/${callId}/settle`, failed)).status, 200)
    assert.is((await edge.post('/v1/runs/r/calls', call)).status, 201, 'it is there for somebody else')
  })
}

test.run()
