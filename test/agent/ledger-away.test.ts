import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { httpConnection } from '../../src/agent/runtime/http-connection.ts'
import { createRuntime } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { type ClientOptions, createClient } from '../../src/client/client.ts'
import type { HttpSettings } from '../../src/http/app-deps.ts'
import { testEdge } from '../support/test-edge.ts'
import { HOMES, rejection } from './homes.ts'

type Fetch = NonNullable<ClientOptions['fetch']>

/** A ledger over HTTP; `through` stands between it and its client. */
async function ledgerOver(
  through: (answer: Fetch) => Fetch,
  { settings, ...options }: Partial<ClientOptions> & { readonly settings?: Partial<HttpSettings> } = {},
) {
  const edge = await testEdge(settings === undefined ? {} : { settings })
  const fetch = through(async (url, init) => edge.app.request(url, init))
  const client = createClient({ url: 'http://ledger.test', token: await edge.token(), fetch, ...options })
  return { cs: createRuntime(httpConnection(client)), [Symbol.asyncDispose]: () => edge[Symbol.asyncDispose]() }
}

const away = (status: number) => async (): Promise<Response> => {
  if (status === 0) throw new TypeError('fetch failed')
  return Response.json({ code: 'not-ready', detail: 'starting' }, { status })
}

for (const { name, open } of HOMES) {
  const test = suite(`many large calls ${name}`)

  test('calls side by side are claimed in requests that the ledger takes, however large they are together (RUN-162)', async () => {
    await using home = await open()
    const cs = home.process()
    const store = cs.tool({ name: 'store', execute: ({ n, text }: { n: number; text: string }) => n + text.length })
    const all = [...Array(28).keys()].map((n) => ({ n, text: 'é'.repeat(150_000) }))
    const given = await cs.run({ name: 'many' }, () => Promise.all(all.map((args) => store(args))))
    assert.equal(
      given,
      all.map(({ n }) => n + 150_000),
    )
  })

  test.run()
}

const test = suite('a ledger that is away for a while')

test('what a smaller limit does not take goes in halves, and alone (RUN-162)', async () => {
  let requests = 0
  const counted =
    (answer: Fetch): Fetch =>
    (url, init) => {
      requests += url.endsWith('/v1/batch') ? 1 : 0
      return answer(url, init)
    }
  await using over = await ledgerOver(counted, { settings: { batchMaxBytes: 100_000 } })
  const store = over.cs.tool({ name: 'store', execute: ({ n }: { n: number; text: string }) => n })
  const all = [...Array(12).keys()].map((n) => ({ n, text: 'x'.repeat(n === 5 ? 200_000 : 30_000) }))
  const given = await over.cs.run({ name: 'many' }, () => Promise.all(all.map((args) => store(args))))
  assert.equal(
    given,
    all.map(({ n }) => n),
  )
  assert.ok(requests > 3, `${requests} requests`)
})

for (const status of [0, 503]) {
  test(`a run goes on behind a restart of its ledger that takes seconds (${status || 'no answer'}) (RUN-162)`, async () => {
    let goneUntilMs = 0
    const restarting =
      (answer: Fetch): Fetch =>
      (url, init) =>
        performance.now() < goneUntilMs ? away(status)() : answer(url, init)
    await using over = await ledgerOver(restarting)
    const effects: string[] = []
    const pay = over.cs.tool((n: number) => effects.push(`pay ${n}`), {
      name: 'pay',
      compensate: () => effects.push('undo'),
    })
    await over.cs.run({ id: 'r', name: 'order' }, async () => {
      await pay(1)
      goneUntilMs = performance.now() + 4_000
      await Promise.all([pay(2), pay(3)])
    })
    assert.equal(effects.toSorted(), ['pay 1', 'pay 2', 'pay 3'])
  })

  test(`a run whose ledger was away once is left open, wherever that meets it, and goes on later (${status || 'no answer'}) (RUN-162)`, async () => {
    for (const at of ['one call', 'two calls', 'the end'] as const) {
      let refusals = 0
      const through =
        (answer: Fetch): Fetch =>
        (url, init) =>
          refusals-- > 0 ? away(status)() : answer(url, init)
      await using over = await ledgerOver(through, { retries: 0 })
      const effects: string[] = []
      const pay = over.cs.tool((n: number) => effects.push(`pay ${n}`), {
        name: 'pay',
        compensate: () => effects.push('undo'),
      })
      const life = (fails: boolean) =>
        over.cs.run({ id: 'r', name: 'order' }, async () => {
          await pay(1)
          refusals = fails && at !== 'the end' ? 1 : 0
          if (at === 'two calls') await Promise.all([pay(2), pay(3)])
          if (at === 'one call') await pay(2)
          refusals = fails ? 1 : 0
          return 'done'
        })
      assert.is(outcomeOf(await rejection(life(true)))?.status, 'OPEN', at)
      assert.is(await life(false), 'done', at)
      assert.not(effects.includes('undo'), at)
    }
  })
}

test.run()
