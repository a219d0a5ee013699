import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Recorded, StandardSchema } from '../../src/agent/index.ts'
import { dateCodec, open } from '../../src/agent/index.ts'

const types = suite('types of the runtime')

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Compiles where the two types are one. */
const same = <A, B>(_: Same<A, B>): void => undefined

interface Payment {
  readonly id: string
}

/** Compiled, never run. */
async function compiled(schema: StandardSchema<string, number>): Promise<void> {
  const cs = await open()
  const charge = cs.tool(async (cents: number, card: string): Promise<Payment> => ({ id: `${cents}${card}` }), {
    name: 'charge',
    compensate: ({ args: [cents, card], result }) => {
      same<typeof cents, number>(true)
      same<typeof card, string>(true)
      same<typeof result, Payment>(true)
    },
    check: ([cents]) => (cents > 0 ? { done: true, result: { id: 'p' } } : undefined),
  })
  same<Parameters<typeof charge>, [cents: number, card: string]>(true)
  same<ReturnType<typeof charge>, Promise<Payment>>(true)
  // @ts-expect-error the arguments are those of the function
  void charge('2500', 'card')
  // @ts-expect-error a result is what the tool gives
  cs.tool(async (n: number) => n, { name: 'n', check: () => ({ done: true, result: 'text' }) })

  const parse = cs.tool({
    name: 'parse',
    input: schema,
    execute: (n, { idempotencyKey }) => {
      same<typeof n, number>(true)
      same<typeof idempotencyKey, string>(true)
      return n
    },
    compensate: ({ args }) => {
      same<typeof args, string>(true)
    },
  })
  same<Parameters<typeof parse>, [args: string]>(true)
  same<ReturnType<typeof parse>, Promise<number>>(true)

  const output = await cs.run({ input: { order: 7 } }, async (run) => {
    same<typeof run.input, { order: number }>(true)
    same<Awaited<ReturnType<typeof read>>, Payment>(true)
    const read = () => run.call(charge, [1, 'card'])
    same<Awaited<ReturnType<typeof run.now>>, Date>(true)
    // @ts-expect-error a list of the function's arguments
    void run.call(charge, 1)
    void run.call(parse, '7')
    return read()
  })
  same<typeof output, Payment>(true)
  // @ts-expect-error a cost has a currency
  void cs.run({ budget: { cost: '2.00' } }, async () => 1)
  // A check that cannot tell, and one that answers something narrower, leave the result what it is.
  const checked = cs.tool(async (n: number) => ({ id: `${n}` }), {
    name: 'checked',
    check: ([n]) => (n > 1 ? { done: true, result: { id: 'p' } } : n > 0 ? { done: false } : undefined),
  })
  same<ReturnType<typeof checked>, Promise<{ id: string }>>(true)
  const defined = cs.tool({
    name: 'defined',
    execute: async (n: number) => ({ id: `${n}` }),
    check: (n) => (n > 1 ? { done: true, result: { id: 'p' } } : undefined),
  })
  same<ReturnType<typeof defined>, Promise<{ id: string }>>(true)

  const generic = cs.tool(async <T>(value: T): Promise<T> => value, { name: 'generic' })
  same<Awaited<ReturnType<typeof generic<7>>>, 7>(true)
  same<Awaited<ReturnType<typeof generic<Payment>>>, Payment>(true)

  const lossy = cs.tool(async () => ({ at: new Date(), note: undefined, f: () => 1, n: 1 as number | undefined }), {
    name: 'lossy',
    compensate: ({ result }) => {
      same<typeof result.at, string>(true)
    },
  })
  const kept = await lossy()
  same<typeof kept.at, string>(true)
  same<typeof kept.n, number>(true)
  // @ts-expect-error JSON leaves functions out
  void kept.f
  same<Recorded<undefined>, null>(true)
  same<Recorded<Map<string, number>>, never>(true)
  same<Recorded<unknown>, unknown>(true)
  const dates = await open({ codecs: [dateCodec] })
  const dated = dates.tool(async (at: Date) => ({ at, tags: new Set(['a']) }), { name: 'dated' })
  same<Awaited<ReturnType<typeof dated>>['at'], Date>(true)
  const when = await dates.run((run) => run.once('when', () => new Date()))
  same<typeof when, Date>(true)
  const text = await cs.run((run) => run.once('when', () => new Date()))
  same<typeof text, string>(true)

  const scoped = await cs.run((run) => run.scope('a', async () => 'text'))
  same<typeof scoped, string>(true)
}

types('hold: this file compiles', () => {
  assert.type(compiled, 'function')
})

types.run()
