import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { LedgerRefused } from '../../src/agent/errors.ts'
import { agent } from '../../src/agent/loop/agent.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { codeOf, HOMES, rejection } from './homes.ts'

const PRICES = { currency: 'USD', models: { cheap: { input: '1', output: '1', maxOutputTokens: 10 } } } as const

for (const { name, open } of HOMES) {
  const test = suite(`refused alike ${name}`)

  for (const [what, together] of [
    ['one after the other', false],
    ['side by side', true],
  ] as const) {
    test(`a key that is used again for other arguments is refused live, on resume and on replay alike: ${what} (RUN-8)`, async () => {
      await using home = await open()
      const seen: unknown[] = []
      const ran: string[] = []
      const life = (cs: Countersign) => {
        const order = cs.tool(
          async ({ item }: { customer: number; item: string }) => {
            ran.push(item)
            return item
          },
          { name: 'order', key: ([{ customer }]) => `order-${customer}`, compensate: 'not-needed' },
        )
        const ask = (item: string) =>
          order({ customer: 1, item }).catch((error: unknown) => {
            assert.instance(error, LedgerRefused)
            const { code, message, evidence } = error as LedgerRefused
            return { code, message, evidence: { ...evidence, callId: typeof evidence.callId } }
          })
        return async (run: Run<null>): Promise<null> => {
          const both = [() => ask('book'), () => ask('lamp')] as const
          const came = together
            ? await Promise.all(both.map((each) => each()))
            : [await both[0](), await both[1](), await ask('book')]
          seen.push(came)
          await run.waitFor('go')
          return null
        }
      }
      const first = home.process()
      const left = await rejection(first.run({ id: 'r', name: 'r', whenWaiting: 'leave' }, life(first)))
      assert.is(codeOf(left), 'run-waiting')
      await first.signal('r', 'go', 1)
      const second = home.process()
      await second.run({ id: 'r', name: 'r' }, life(second))
      const third = home.process()
      assert.is((await third.replay('r', life(third))).verdict, 'exact')
      const [live, resumed, replayed] = seen as [readonly unknown[], unknown, unknown]
      assert.is((live[1] as { code: string }).code, 'call-key-reused')
      assert.equal(resumed, live)
      assert.equal(replayed, live)
      assert.equal(ran, ['book'])
    })
  }

  test('a run id that does not fit is refused in the same words (HTTP-114)', async () => {
    await using home = await open()
    const refused = await rejection(home.process().start('order', null, { id: 'a/b' }))
    assert.is((refused as LedgerRefused).code, 'invalid-body')
    assert.match((refused as LedgerRefused).message, /^\/id: /)
  })

  test('a key that names a call of another tool is refused live and on replay alike (RUN-8, RUN-194)', async () => {
    await using home = await open()
    const life = (cs: Countersign) => {
      const tool = (name: string) =>
        cs.tool((n: number) => `${name} ${n}`, { name, key: () => 'k', compensate: 'not-needed' })
      const [one, other] = [tool('one'), tool('other')]
      const refused = (error: LedgerRefused) => [error.code, error.message]
      return async () => [
        await one(1),
        await other(1).catch(refused),
        ...(await Promise.all([one(1), other(1).catch(refused)])),
      ]
    }
    const [first, second] = [home.process(), home.process()]
    const live = await first.run({ id: 'r', name: 'r' }, life(first))
    const refusal = ['call-key-reused', 'this key names a call of one']
    assert.equal(live, ['one 1', refusal, 'one 1', refusal])
    assert.equal((await second.replay('r', life(second))).output, live)
  })

  for (const [what, { code, model, budget }] of Object.entries({
    'a model without a price': { code: 'unknown-price', model: 'new', budget: { cost: '1.00 USD' } },
    'a model without a bound': { code: 'unbounded-output', model: 'new', budget: { tokens: 100_000 } },
    'a limit of an agent': { code: 'unbounded-output', model: 'new', budget: { agents: { a: { tokens: 5 } } } },
  } as const)) {
    test(`what is refused before it is claimed is refused on resume and on replay alike, and code that caught it goes on: ${what} (RUN-46)`, async () => {
      await using home = await open()
      const seen: unknown[] = []
      const ask = (run: Run<null>, which: string) =>
        run.model({
          provider: 'p',
          model: which,
          request: { q: 1 },
          agent: 'a',
          call: () => ({ text: which }),
          usage: () => ({ inputTokens: 1, outputTokens: 1 }),
          estimate: { inputTokens: 1 },
          ...(code === 'unknown-price' && { maxOutputTokens: 2 }),
        })
      const body = async (run: Run<null>): Promise<null> => {
        const refused = await rejection(ask(run, model))
        seen.push([codeOf(refused), (refused as Error).message])
        seen.push(await run.once('after', () => 'after'))
        await run.waitFor('go')
        return null
      }
      const process = () => home.process(undefined, { prices: PRICES })
      await rejection(process().run({ id: 'r', name: 'r', budget, whenWaiting: 'leave' }, body))
      await process().signal('r', 'go', 1)
      await process().run({ id: 'r', name: 'r', budget }, body)
      assert.is((await process().replay('r', body)).verdict, 'exact')
      assert.is((seen[0] as unknown[])[0], code)
      assert.equal([seen[2], seen[4]], [seen[0], seen[0]])
    })
  }

  test('a reserve that throws, or gives what is none, refuses its call live, on resume and on replay alike (RUN-163)', async () => {
    await using home = await open()
    const seen: unknown[] = []
    let ran = 0
    const life = (cs: Countersign) => {
      const throws = cs.tool(async () => ++ran, {
        name: 'throws',
        reserve: () => {
          throw new TypeError('no reserve today')
        },
      })
      const wrong = cs.tool(async () => ++ran, { name: 'wrong', reserve: () => ({ tokens: 1.5 }) })
      return async (run: Run<null>): Promise<null> => {
        seen.push([(await rejection(throws())) as Error, await rejection(wrong())].map((error) => String(error)))
        await run.waitFor('go')
        return null
      }
    }
    const first = home.process()
    await rejection(first.run({ id: 'r', name: 'r', whenWaiting: 'leave' }, life(first)))
    await first.signal('r', 'go', 1)
    const second = home.process()
    await second.run({ id: 'r', name: 'r' }, life(second))
    const third = home.process()
    assert.is((await third.replay('r', life(third))).verdict, 'exact')
    assert.is(ran, 0)
    assert.match(JSON.stringify(seen[0]), 'no reserve today')
    assert.match(JSON.stringify(seen[0]), 'reserve of wrong: tokens takes')
    assert.equal([seen[1], seen[2]], [seen[0], seen[0]])
  })

  test('arguments and inputs that are too large are refused alike, and the code goes on with less (RUN-181, RUN-188)', async () => {
    await using home = await open()
    const seen: unknown[] = []
    const ran: number[] = []
    const life = (cs: Countersign) => {
      const index = cs.tool(
        async (text: string) => {
          ran.push(text.length)
          return text.length
        },
        { name: 'index', compensate: 'not-needed' },
      )
      const child = (input: string) => cs.run({ name: 'child', input }, async () => 'done')
      const less = <T>(ask: (text: string) => Promise<T>, length: number) =>
        ask('a'.repeat(9 * 1024 * 1024)).catch(async (error: unknown) => [codeOf(error), await ask('a'.repeat(length))])
      return async (run: Run<null>): Promise<null> => {
        const came = [await less(index, 10), await less(child, 20), await Promise.all([less(index, 30), index('b')])]
        seen.push(came)
        await run.waitFor('go')
        return null
      }
    }
    const first = home.process()
    await rejection(first.run({ id: 'r', name: 'r', whenWaiting: 'leave' }, life(first)))
    await first.signal('r', 'go', 1)
    const second = home.process()
    await second.run({ id: 'r', name: 'r' }, life(second))
    const third = home.process()
    assert.is((await third.replay('r', life(third))).verdict, 'exact')
    const expected = [
      ['value-too-large', 10],
      ['value-too-large', 'done'],
      [['value-too-large', 30], 1],
    ]
    assert.equal(seen, [expected, expected, expected])
    assert.equal(ran.toSorted(), [1, 10, 30])
  })

  for (const [code, ask] of Object.entries({
    'nothing-to-roll-back': (run) => run.rollback(),
    'unknown-step': async (run) => {
      for (const n of [1, 2]) await run.handoff({ n }, { agent: 'a' })
      return run.rollback({ toStep: 9 })
    },
    'schema-invalid': (run) => run.waitFor('never', { schema: { type: 'objekt' } }),
    'manifest-invalid': (run) => run.handoff({ n: 1 }, { agent: 'a', manifest: { schema: { type: 'objekt' } } }),
    'context-too-large': async (run) => {
      const half = 'x'.repeat(300 * 1024)
      await run.handoff({ a: half }, { agent: 'a' })
      return run.handoff({ b: half }, { agent: 'a', mode: 'merge' })
    },
    'fork-open': (run) => {
      const branch = { agent: 'a', run: async () => ({ a: (await run.once('slow', () => 1)) as number }) }
      const forks = [['one'], ['two']].map(([name = '']) => run.fork([{ ...branch, name }], { join: 'union' }))
      return Promise.all(forks)
    },
    'currency-mismatch': (_, cs) => cs.tool(async () => 1, { name: 'dear', reserve: { cost: '1.00 EUR' } })(),
  } satisfies Record<string, (run: Run<null>, cs: Countersign) => Promise<unknown>>)) {
    test(`code that catches a refusal goes the same way on resume and on replay: ${code} (RUN-191)`, async () => {
      await using home = await open()
      const seen: unknown[] = []
      const life = (cs: Countersign) => {
        const next = cs.tool(async (n: number) => n, { name: 'next', compensate: 'not-needed' })
        return async (run: Run<null>): Promise<null> => {
          const error = (await rejection(ask(run, cs))) as LedgerRefused
          seen.push([error.name, error.code, error.message, error.evidence, await next(1)])
          await run.waitFor('go')
          return null
        }
      }
      const budget = { cost: '5.00 USD' } as const
      const first = home.process()
      const left = await rejection(first.run({ id: 'r', name: 'r', budget, whenWaiting: 'leave' }, life(first)))
      assert.is(codeOf(left), 'run-waiting')
      await first.signal('r', 'go', 1)
      const second = home.process()
      await second.run({ id: 'r', name: 'r', budget }, life(second))
      const third = home.process()
      assert.is((await third.replay('r', life(third))).verdict, 'exact')
      assert.is((seen[0] as unknown[])[1], code)
      if (code === 'unknown-step') assert.equal((seen[0] as unknown[])[3], { steps: [0, 1] })
      assert.equal(seen, [seen[0], seen[0], seen[0]])
    })
  }

  test('a claim that the budget refuses again and again is refused as often on resume and on replay (RUN-191)', async () => {
    await using home = await open()
    const seen: string[][] = []
    const life = (cs: Countersign) => {
      const dear = cs.tool(async () => 'done', { name: 'dear', reserve: { tokens: 50 }, compensate: 'not-needed' })
      const hold = cs.tool((cents: number) => held.then(() => cents), {
        ...{ name: 'hold', reserve: { tokens: 60 }, usage: () => ({ tokens: 1 }), compensate: 'not-needed' },
      })
      let release = (): void => undefined
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      return async (run: Run<null>): Promise<null> => {
        const came: string[] = []
        seen.push(came)
        const holding = hold(1)
        for (let n = 0; came.at(-1) !== 'done'; n += 1) {
          came.push(await dear().catch((error) => String(codeOf(error))))
          if (n % 2 === 1) came.push(await run.once('between', () => 'between'))
          if (n > 22) release()
          if (n > 22) await holding
        }
        await run.waitFor('go')
        return null
      }
    }
    const budget = { tokens: 100 }
    const first = home.process()
    await rejection(first.run({ id: 'r', name: 'r', budget, whenWaiting: 'leave' }, life(first)))
    await first.signal('r', 'go', 1)
    const second = home.process()
    await second.run({ id: 'r', name: 'r', budget }, life(second))
    const third = home.process()
    assert.is((await third.replay('r', life(third))).verdict, 'exact')
    assert.is(seen[0]?.filter((each) => each === 'budget-exceeded').length, 24)
    assert.equal(seen, [seen[0], seen[0], seen[0]])
  })

  test('A626 an answer of a model in another shape is refused, and says what is expected (RUN-295)', async () => {
    await using home = await open()
    const parts = async function* (each: unknown) {
      yield each
    }
    const answers = [{ text: 'x' }, { choices: [] }, { content: 'x', tool_calls: [{}] }, {}]
    for (const [i, answer] of answers.entries()) {
      const cs = home.process()
      const body = async (): Promise<unknown> => {
        const bot = agent({ name: 'bot', tools: [], model: (async () => answer) as never })
        const inParts = agent({
          name: 'parts',
          tools: [],
          model: (async () => parts({ ...answer, text: undefined })) as never,
        })
        const faults = []
        for (const each of [bot, inParts]) {
          const error = await rejection(each.generate({ prompt: 'p' }))
          faults.push([codeOf(error), (error as Error).message])
        }
        return faults
      }
      const id = `r${i}`
      const faults = (await cs.run({ id, name: 'r' }, body)) as string[][]
      for (const [code] of faults) assert.is(code, 'invalid-model-message')
      assert.match(String(faults[0]?.[1]), /expected \{ role: 'assistant', content/)
      assert.equal((await home.process().replay(id, body)).output, faults)
    }
  })

  test('A628 the arguments of a saga are judged before its first step (RUN-50, RUN-296)', async () => {
    await using home = await open()
    const ran: unknown[] = []
    const bodyOf = (cs: Countersign) => {
      const book = cs.tool((n: number) => ran.push(n), { name: 'book', compensate: () => ran.push('back') })
      return async (run: Run<null>): Promise<unknown> => {
        const codes = []
        for (const args of [[Number.NaN], [new Map()]]) {
          const steps = [
            { tool: book, args: [1] },
            [
              { tool: book, args: [2] },
              { tool: book, args },
            ],
          ]
          codes.push(codeOf(await rejection(run.saga(steps as never))))
        }
        return codes
      }
    }
    const cs = home.process()
    assert.equal(await cs.run({ id: 'r', name: 'r' }, bodyOf(cs)), ['not-recordable', 'not-recordable'])
    assert.equal(ran, [])
    const again = home.process()
    assert.is((await again.replay('r', bodyOf(again))).verdict, 'exact')
  })

  test.run()
}
