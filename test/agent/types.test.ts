import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { StandardSchema } from '../../src/agent/index.ts'
import { open } from '../../src/agent/index.ts'

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
  const scoped = await cs.run((run) => run.scope('a', async () => 'text'))
  same<typeof scoped, string>(true)
}

types('hold: this file compiles', () => {
  assert.type(compiled, 'function')
})

types.run()
