import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ToolOptions } from '../../src/agent/calls/tool-options.ts'
import { HOMES, LONG_MS, rejection } from './homes.ts'

/** Warnings of the process meanwhile, by their codes. */
async function warnings<T>(work: () => Promise<T>): Promise<readonly [T, string[]]> {
  const codes: string[] = []
  const note = (warning: Error & { code?: string }): number => codes.push(warning.code ?? '')
  process.on('warning', note)
  try {
    const result = await work()
    await new Promise((resolve) => setImmediate(resolve))
    return [result, codes]
  } finally {
    process.off('warning', note)
  }
}

const fails = (): never => {
  const unreadable: unknown = Object.create(null)
  throw unreadable
}

/** What a tool says that a call has cost, and none of it can be counted. */
const NO_USAGE: Readonly<Record<string, unknown>> = {
  'another currency': () => ({ cost: '0.005 EUR' }),
  'it throws': fails,
  'a number for money': () => ({ cost: 0.005 }),
  'money without a currency': () => ({ cost: '0.005' }),
  'money below nothing': () => ({ cost: '-0.005 USD' }),
  'text for tokens': () => ({ tokens: '5' }),
  'more tokens than there are': () => ({ tokens: 1e300 }),
  'a member of another name': () => ({ token: 5 }),
  'a promise': async () => ({ tokens: 5 }),
  'a promise that rejects': async () => Promise.reject(new Error('no')),
  'a list': () => [5],
}

for (const { name, open } of HOMES) {
  const test = suite(`callbacks ${name}`)

  for (const [what, usage] of Object.entries(NO_USAGE)) {
    test(`a usage that cannot be counted does not hinder the outcome: what was reserved counts, with a warning: ${what} (RUN-43)`, async () => {
      await using home = await open()
      const cs = home.process()
      const undone: unknown[] = []
      let ran = 0
      const pay = cs.tool(async (n: number) => n + ran++, {
        name: 'pay',
        reserve: { cost: '0.01 USD', tokens: 10 },
        usage,
        compensate: (call: unknown) => undone.push(call),
      } as ToolOptions<[number], number>)
      const run = { id: 'r', name: 'r', budget: { cost: '1.00 USD' } } as const
      const [paid, codes] = await warnings(() => cs.run(run, async () => pay(1)))
      assert.equal([paid, ran, undone.length], [1, 1, 0])
      assert.ok(codes.includes('COUNTERSIGN_USAGE'), codes.join())
      const { cost, tokens, reservedTokens } = await home.connection.budget('r')
      assert.equal([cost, tokens, reservedTokens], ['0.01', 10, 0])
    })
  }

  for (const [what, check] of Object.entries<() => unknown>({
    'a bare true': () => true,
    'no word of done': () => ({ result: 5 }),
    'a text for done': () => ({ done: 'yes' }),
    'it throws': fails,
    'a result that cannot be recorded': () => ({ done: true, result: new Map([[1, 1]]) }),
  })) {
    test(`a check that gives no answer leaves its call in doubt, with a warning, and nothing runs again: ${what} (RUN-9)`, async () => {
      await using home = await open()
      let ran = 0
      const life = () => {
        const cs = home.process()
        const pay = cs.tool(
          async () => {
            ran += 1
            return new Promise<number>(() => {})
          },
          { name: 'pay', timeout: 5, check: check as () => undefined },
        )
        return cs.run({ id: 'r', name: 'r' }, async () => pay())
      }
      const [error, codes] = await warnings(() => rejection(life()))
      assert.is((error as { code?: string }).code, 'call-in-doubt')
      assert.ok(codes.includes('COUNTERSIGN_CHECK'), codes.join())
      home.clock.nowMs += LONG_MS
      await rejection(life())
      assert.is(ran, 1)
    })
  }

  for (const [what, key] of Object.entries<() => unknown>({
    'a number': () => 5,
    nothing: () => undefined,
    'an empty text': () => '',
    'a text that is too long': () => 'x'.repeat(513),
    'a promise': async () => 'k',
  })) {
    test(`a key that is no text is refused before anything is claimed, the same when replayed: ${what} (RUN-163)`, async () => {
      await using home = await open()
      const cs = home.process()
      let ran = 0
      const pay = cs.tool(async (n: number) => n + ran++, { name: 'pay', key: key as () => string })
      const body = async () => ((await rejection(pay(1))) as { code?: string }).code ?? ''
      assert.is(await cs.run({ id: 'r', name: 'r' }, body), 'invalid-option')
      assert.is(ran, 0)
      assert.is((await cs.replay('r', body)).verdict, 'exact')
    })
  }

  test('a notice that throws holds nothing up, and is warned of (RUN-62)', async () => {
    await using home = await open()
    const cs = home.process(undefined, { onApproval: fails, onWaiting: async () => fails() })
    const pay = cs.tool(async (n: number) => n, { name: 'pay', approve: true })
    const body = async () => pay(1)
    const [error, codes] = await warnings(() => rejection(cs.run({ id: 'r', name: 'r', whenWaiting: 'leave' }, body)))
    assert.is((error as { code?: string }).code, 'run-waiting')
    const [waits, more] = await warnings(() =>
      rejection(cs.run({ id: 'w', name: 'w', whenWaiting: 'leave' }, async (run) => run.waitFor('go'))),
    )
    assert.is((waits as { code?: string }).code, 'run-waiting')
    for (const codesOfOne of [codes, more]) assert.ok(codesOfOne.includes('COUNTERSIGN_NOTICE'), codesOfOne.join())
  })

  test.run()
}
