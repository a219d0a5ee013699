import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { fromNano } from '../../../schemas/money.ts'
import type { Connection } from '../../../src/agent/runtime/connection.ts'
import type { Run } from '../../../src/agent/runtime/run.ts'
import type { Countersign } from '../../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../../src/agent/saga/outcome.ts'
import { jsonDigest } from '../../../src/signing/digests.ts'
import { codeOf, HOMES, killedAfter, LONG_MS, NO_WAIT, rejection } from '../homes.ts'

const PRICES = {
  currency: 'USD',
  models: {
    small: { input: '1.00', output: '2.00', maxOutputTokens: 50 },
    'acme/big': { input: '10', output: '30.000000001' },
  },
} as const

interface Said {
  readonly text: string
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number }
}

const said = (text: string, inputTokens: number, outputTokens: number): Said => ({
  text,
  usage: { inputTokens, outputTokens },
})

for (const { name, open } of HOMES) {
  const model = suite(`model calls ${name}`)

  const eventsOf = async (connection: Connection, runId: string): Promise<{ type: string; data: JsonObject }[]> => {
    const all = []
    for await (const { type, data } of connection.events(runId)) all.push({ type, data })
    return all
  }

  /** Asks a model that says what `say` gives; bounds as told. */
  const asker =
    (say: (prompt: string) => Said | Promise<Said>, more: object = {}) =>
    (run: Run<unknown>, prompt: string): Promise<Said> =>
      run.model({
        provider: 'acme',
        model: 'small',
        request: { prompt },
        estimate: { inputTokens: 10, outputTokens: 20 },
        call: ({ prompt: text }) => say(text),
        usage: ({ usage }) => usage,
        backoff: NO_WAIT,
        ...more,
      })

  model(
    'what a call may cost is reserved in its claim, and what it cost is in its settle: one append each',
    async () => {
      await using home = await open()
      const cs = home.process(undefined, { prices: PRICES })
      const ask = asker((text) => said(text.toUpperCase(), 7, 11))
      const output = await cs.run({ id: 'r', budget: { cost: '1.00 USD', tokens: 1_000 } }, (run) => ask(run, 'hi'))
      assert.equal(output, said('HI', 7, 11))
      const events = await eventsOf(home.connection, 'r')
      assert.equal(
        events.map(({ type }) => type),
        ['RunStarted', 'BudgetReserved', 'ToolCallClaimed', 'UsageRecorded', 'ToolCallSucceeded', 'RunCompleted'],
      )
      const { tokens, cost, currency, provider } = events[1]?.data ?? {}
      assert.equal([tokens, cost, currency, provider], [30, '0.00005', 'USD', 'acme'])
      assert.equal(events[3]?.data.usage, {
        tokens: 18,
        inputTokens: 7,
        outputTokens: 11,
        cost: '0.000029',
        currency: 'USD',
        provider: 'acme',
        model: 'small',
      })
      const claim = events[2]?.data ?? {}
      assert.equal([claim.tool, claim.phase], ['model:acme', 'model'])
      const { fingerprint, request } = claim.args as JsonObject
      assert.equal([request, String(fingerprint).length], [{ prompt: 'hi' }, 71])
    },
  )

  model('calls side by side never spend more than the budget holds, however they end', async () => {
    const call = fc.record({ input: fc.nat(30), output: fc.nat(30), fate: fc.constantFrom('ok', 'fail', 'silent') })
    await fc.assert(
      fc.asyncProperty(
        fc.array(call, { minLength: 2, maxLength: 12 }),
        fc.nat(200),
        fc.boolean(),
        async (calls, limit, money) => {
          await using home = await open()
          const cs = home.process(undefined, {
            prices: { currency: 'USD', models: { small: { input: '1', output: '1' } } },
          })
          const budget = money
            ? { cost: `${fromNano(BigInt(limit) * 1_000n)} USD` as `${number} USD` }
            : { tokens: limit }
          let under = 0
          let used = 0
          let most = 0
          const one = (run: Run<unknown>, i: number, { input, output, fate }: (typeof calls)[number]) =>
            run.model({
              provider: 'acme',
              model: 'small',
              request: i,
              estimate: { inputTokens: input, outputTokens: output },
              retries: 0,
              call: async (): Promise<string> => {
                under += input + output
                most = Math.max(most, used + under)
                await new Promise((resolve) => setImmediate(resolve))
                under -= input + output
                if (fate !== 'fail') used += input + output
                if (fate === 'fail') throw new Error('refused by the provider')
                return 'ok'
              },
              ...(fate === 'ok' && { usage: () => ({ inputTokens: input, outputTokens: output }) }),
            })
          const body = async (run: Run<unknown>): Promise<unknown[]> =>
            (await Promise.allSettled(calls.map((each, i) => one(run, i, each)))).map(({ status }) => status)
          const outcomes = await cs.run({ id: 'r', budget }, body)
          assert.ok(most <= limit, `${most} under way or spent of ${limit}`)
          const spent = await home.connection.budget('r')
          assert.equal([spent.tokens, spent.reservedTokens], [used, 0])
          assert.is(spent.cost, fromNano(BigInt(used) * 1_000n))
          assert.equal(await home.process().run({ id: 'r', budget }, body), outcomes)
        },
      ),
      { numRuns: name === 'in process' ? 25 : 10 },
    )
  })

  model('a served call dials nobody, whatever its outcome was', async () => {
    await using home = await open()
    let dialled = 0
    const ask = asker((text) => {
      dialled += 1
      if (text === 'bad') throw Object.assign(new Error('no such model'), { status: 404 })
      return said(text, 1, 1)
    })
    const body = async (run: Run<unknown>): Promise<string[]> => {
      const first = await ask(run, 'good')
      const failed = await rejection(ask(run, 'bad'))
      const again = await ask(run, 'good')
      return [first.text, (failed as Error).message, again.text]
    }
    const expected = ['good', 'no such model', 'good']
    assert.equal(await home.process().run({ id: 'r' }, body), expected)
    assert.is(dialled, 3, 'asked twice at two places is two calls')
    assert.equal((await home.process().replay('r', body)).output, expected)
    assert.is(dialled, 3)
  })

  model('killed between the call and its settle: charged as an estimate, called again, and the run ends', async () => {
    await using home = await open()
    const { change, dead } = killedAfter(2, true)
    const options = { id: 'r', budget: { tokens: 100 } }
    const body = (run: Run<unknown>): Promise<Said> => asker((text) => said(text, 3, 4))(run, 'x')
    void home.process(change).run(options, body)
    await dead
    home.clock.nowMs += LONG_MS / 2
    assert.equal(await home.process().run(options, body), said('x', 3, 4))
    const budget = await home.connection.budget('r')
    assert.equal([budget.tokens, budget.reservedTokens], [30 + 7, 0])
    const types = (await eventsOf(home.connection, 'r')).map(({ type }) => type)
    assert.ok(types.includes('ToolCallInDoubt') && types.includes('ReservationExpired'))
  })

  model('a refusal of the budget is served on resume and replay, and the code goes its way again', async () => {
    await using home = await open()
    let dialled = 0
    const ask = asker((text) => {
      dialled += 1
      return said(text, 10, 20)
    })
    const body = (cs: Countersign, last: () => unknown) => {
      const note = cs.tool(last, { name: 'note' })
      return async (run: Run<unknown>): Promise<string[]> => {
        const first = await ask(run, 'a')
        const refused = codeOf(await rejection(ask(run, 'too much')))
        const small = await run.model({
          provider: 'acme',
          model: 'small',
          request: 'short',
          estimate: { inputTokens: 1, outputTokens: 1 },
          call: () => 'short',
        })
        await note()
        return [first.text, String(refused), small]
      }
    }
    const options = { id: 'r', budget: { tokens: 40 } }
    const { change, dead } = killedAfter(7, false)
    const first = home.process(change)
    void first.run(
      options,
      body(first, () => undefined),
    )
    await dead
    home.clock.nowMs += LONG_MS
    const second = home.process()
    const expected = ['a', 'budget-exceeded', 'short']
    assert.equal(
      await second.run(
        options,
        body(second, () => undefined),
      ),
      expected,
    )
    const third = home.process()
    assert.equal(
      (
        await third.replay(
          'r',
          body(third, () => undefined),
        )
      ).output,
      expected,
    )
    assert.is(dialled, 1)
  })

  model(
    'under a budget a call without a bound is refused, and one of unknown price under a limit of cost (RUN-46)',
    async () => {
      await using home = await open()
      const cs = home.process(undefined, { prices: PRICES })
      const unbound = asker(() => said('x', 1, 1), { model: 'acme-mini', estimate: { inputTokens: 1 } })
      const bound = asker(() => said('x', 1, 1), { model: 'acme-mini' })
      const codes = (budget: { tokens?: number; cost?: '1.00 USD' }) =>
        cs.run({ budget }, async (run) => [
          codeOf(await unbound(run, 'a').catch((error: unknown) => error)) ?? 'fine',
          codeOf(await bound(run, 'b').catch((error: unknown) => error)) ?? 'fine',
        ])
      assert.equal(await codes({ tokens: 100 }), ['unbounded-output', 'fine'])
      assert.equal(await codes({ cost: '1.00 USD' }), ['unknown-price', 'unknown-price'])
      assert.equal(await codes({}), ['fine', 'fine'])
    },
  )

  model(
    'a model that costs nothing needs no bound under a limit of cost, and one under a limit of tokens (RUN-46)',
    async () => {
      await using home = await open()
      const prices = { currency: 'USD', models: { 'acme/local': { input: '0', output: '0.00' } } }
      const cs = home.process(undefined, { prices })
      const unbound = { estimate: { inputTokens: 1 } }
      const asks = [
        asker(() => said('x', 1, 9), { ...unbound, model: 'local' }),
        asker(() => said('x', 1, 9), { ...unbound, model: 'named-nowhere', price: 'free' }),
      ]
      const codes = (budget: { tokens?: number; cost?: '1.00 USD' }, id: string) =>
        cs.run({ id, budget }, (run) =>
          Promise.all(asks.map(async (ask) => codeOf(await ask(run, 'a').catch((error: unknown) => error)) ?? 'fine')),
        )
      assert.equal(await codes({ cost: '1.00 USD' }, 'free'), ['fine', 'fine'])
      const { tokens, cost } = await home.connection.budget('free')
      assert.equal([tokens, cost], [20, '0'], 'what was used is counted all the same')
      assert.equal(await codes({ cost: '1.00 USD', tokens: 100 }, 'bound'), ['unbounded-output', 'unbounded-output'])
    },
  )

  model('a call that names no bound gets the smaller of what the model can give and what is left', async () => {
    await using home = await open()
    const cs = home.process(undefined, { prices: PRICES })
    const bounds = (budget: { tokens?: number; cost?: `${number} USD` }) =>
      cs.run({ budget }, (run) =>
        run.model({
          provider: 'acme',
          model: 'small',
          request: 'x',
          estimate: { inputTokens: 10 },
          call: (_, { maxOutputTokens }) => maxOutputTokens ?? null,
          usage: () => ({ inputTokens: 10, outputTokens: 1 }),
        }),
      )
    assert.is(await bounds({}), 50)
    assert.is(await bounds({ tokens: 1_000 }), 50)
    assert.is(await bounds({ tokens: 30 }), 20)
    assert.is(await bounds({ cost: '0.00005 USD' }), 20)
    assert.is(codeOf(await rejection(bounds({ tokens: 10 }))), 'budget-exceeded')
  })

  model('busy providers are retried, each try reserved, and other errors are not', async () => {
    await using home = await open()
    const cs = home.process()
    let tries = 0
    const flaky = asker((text) => {
      tries += 1
      if (tries < 3) throw Object.assign(new Error('busy'), { status: 429 })
      return said(text, 1, 1)
    })
    await cs.run({ id: 'busy', budget: { tokens: 1_000 } }, (run) => flaky(run, 'x'))
    const types = (await eventsOf(home.connection, 'busy')).map(({ type }) => type)
    assert.is(types.filter((type) => type === 'BudgetReserved').length, 3)
    assert.is(types.filter((type) => type === 'BudgetReleased').length, 2)
    let refused = 0
    const bad = asker(() => {
      refused += 1
      throw Object.assign(new Error('bad request'), { status: 400 })
    })
    await rejection(cs.run({}, (run) => bad(run, 'x')))
    assert.is(refused, 1)
  })

  model('a try that is abandoned is charged in full as an estimate', async () => {
    await using home = await open()
    const cs = home.process()
    const silent = asker(() => new Promise<Said>(() => undefined), { timeout: 20, retries: 0 })
    await cs.run({ id: 'r', budget: { tokens: 100 } }, async (run) => void (await rejection(silent(run, 'x'))))
    const usage = (await eventsOf(home.connection, 'r')).find(({ type }) => type === 'UsageRecorded')?.data.usage
    assert.equal([(usage as JsonObject).tokens, (usage as JsonObject).estimated], [30, true])
  })

  model(
    'over budget: rolled back, or left standing where the author says so, also behind a wrapping error',
    async () => {
      await using home = await open()
      const cs = home.process()
      const undone: string[] = []
      const pay = cs.tool((what: string) => what, { name: 'pay', compensate: ({ result }) => void undone.push(result) })
      const ask = asker((text) => said(text, 10, 20))
      const body = async (run: Run<unknown>): Promise<unknown> => {
        await pay(run.id)
        return ask(run, 'x').catch((error: unknown) => {
          throw new Error('the library failed', { cause: error })
        })
      }
      const ended = async (id: string, compensateOnBudgetExceeded?: boolean) => {
        const more = compensateOnBudgetExceeded === undefined ? {} : { compensateOnBudgetExceeded }
        return outcomeOf(await rejection(cs.run({ id, budget: { tokens: 5 }, ...more }, body)))?.status
      }
      assert.equal([await ended('back'), await ended('stay', false)], ['COMPENSATED', 'FAILED'])
      assert.equal(undone, ['back'])
    },
  )

  model(
    'digests alone: a resume stops there, or calls again where configured to, any number of times (RUN-25)',
    async () => {
      await using home = await open()
      let dialled = 0
      const body = (onMissing: 'stop' | 'call') => async (run: Run<unknown>) => {
        const ask = asker(() => said('secret', ++dialled, 1), { record: 'digest', onMissing })
        const answers = [await ask(run, 'a'), await ask(run, 'a')]
        return answers.filter(({ text }) => text === 'secret').length
      }
      for (const life of [1, 2]) {
        const { change, dead } = killedAfter(5, true)
        void home.process(change).run({ id: 'r' }, body('call'))
        await dead
        assert.is(dialled, 2 * life)
      }
      const stopped = await rejection(home.process().run({ id: 'r' }, body('stop')))
      assert.equal([codeOf(stopped), outcomeOf(stopped)?.status], ['not-recorded', 'OPEN'])
      assert.is(await home.process().run({ id: 'r' }, body('call')), 2)
      assert.is(dialled, 6)
      assert.is(codeOf(await rejection(home.process().replay('r', body('call')))), 'not-recorded')
      const written = JSON.stringify(await eventsOf(home.connection, 'r'))
      assert.not.match(written, /secret|"prompt"/)
    },
  )

  model('what is redacted is nowhere on record, in no request, answer or error', async () => {
    await using home = await open()
    const cs = home.process()
    const redact = (value: Json): Json => JSON.parse(JSON.stringify(value).replaceAll('CANARY', '***')) as Json
    let tries = 0
    const ask = asker(
      (text) => {
        tries += 1
        if (tries === 1) throw Object.assign(new Error(`cannot answer ${text}`), { status: 503 })
        return said(`you said ${text}`, 1, 1)
      },
      { redact },
    )
    const output = await cs.run({ id: 'r' }, async (run) => (await ask(run, 'my CANARY')).text.length)
    assert.is(output, 'you said my CANARY'.length)
    const written = JSON.stringify(await eventsOf(home.connection, 'r'))
    assert.not.match(written, /CANARY/)
    assert.match(written, /cannot answer my \*\*\*/)
    assert.match(written, /you said my \*\*\*/)
  })

  model('the fingerprint is of the request, in any order of its members, redacted or not', async () => {
    await using home = await open()
    const cs = home.process()
    const ask = (run: Run<unknown>, request: object, more: object = {}) =>
      run.model({ provider: 'acme', model: 'small', request, call: () => 'x', ...more })
    await cs.run({ id: 'r' }, async (run) => {
      await ask(run, { a: 1, b: { c: 'CANARY', d: [2] } })
      await ask(run, { b: { d: [2], c: 'CANARY' }, a: 1 })
      await ask(run, { a: 1, b: { c: 'CANARY', d: [2] } }, { redact: () => 'gone' })
      await ask(run, { a: 1, b: { c: 'CANARY', d: [2] } }, { record: 'digest' })
      await ask(run, { a: 2, b: { c: 'CANARY', d: [2] } })
      await ask(run, { a: 1, b: { c: 'CANARY', d: [2] } }, { model: 'big' })
    })
    const prints = (await home.connection.calls('r')).map(({ args }) => String((args as JsonObject).fingerprint))
    assert.equal([new Set(prints.slice(0, 4)).size, new Set(prints).size], [1, 3])
    assert.is(
      prints[0],
      jsonDigest({ provider: 'acme', model: 'small', request: { a: 1, b: { c: 'CANARY', d: [2] } } }),
    )
  })

  model('a tool reserves as well: refused before it runs, charged with what it says, else in full', async () => {
    await using home = await open()
    const cs = home.process()
    let effects = 0
    const search = cs.tool((n: number) => ({ n, pages: ++effects }), {
      name: 'search',
      reserve: ([n]) => ({ cost: `${n + 0.5} USD`, tokens: 1 }),
      usage: ({ n }) => ({ cost: `${n} USD` }),
    })
    const lookup = cs.tool(() => ++effects, { name: 'lookup', reserve: { cost: '0.25 USD' } })
    const refused = await cs.run({ id: 'r', budget: { cost: '3.00 USD' } }, async () => {
      await search(1)
      await lookup()
      return codeOf(await rejection(search(2)))
    })
    assert.is(refused, 'budget-exceeded')
    assert.is(effects, 2)
    const { cost, reservedCost } = await home.connection.budget('r')
    assert.equal([cost, reservedCost], ['1.25', '0'])
  })

  model.run()
}
