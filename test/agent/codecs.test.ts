import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Codec } from '../../src/agent/calls/codecs.ts'
import { open } from '../../src/agent/index.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import { codeOf, HOMES, rejection } from './homes.ts'

const test = suite('codecs of what is no object')

/** A codec of objects, which asks what has no members. */
const careless = {
  tag: 'careless',
  is: (value: unknown): value is object => (value as { isMine?: boolean }).isMine === true,
  encode: () => null,
  decode: () => ({}),
}

const KINDS: Readonly<Record<string, readonly [Codec, unknown]>> = {
  bigint: [
    { tag: 'b', is: (v): v is bigint => typeof v === 'bigint', encode: String, decode: (v) => BigInt(String(v)) },
    5n,
  ],
  undefined: [
    { tag: 'u', is: (v): v is undefined => v === undefined, encode: () => null, decode: () => undefined },
    undefined,
  ],
  'no number': [
    {
      tag: 'n',
      is: (v): v is number => typeof v === 'number' && !Number.isFinite(v),
      encode: String,
      decode: (v) => Number(v),
    },
    Number.NEGATIVE_INFINITY,
  ],
  'zero below zero': [{ tag: 'z', is: (v): v is number => Object.is(v, -0), encode: () => null, decode: () => -0 }, -0],
  symbol: [
    {
      tag: 's',
      is: (v): v is symbol => typeof v === 'symbol',
      encode: (v) => (v as symbol).description,
      decode: (v) => Symbol.for(String(v)),
    },
    Symbol.for('q'),
  ],
}

const [home] = HOMES

for (const [what, [codec, value]] of Object.entries(KINDS)) {
  test(`what a codec keeps is kept in arguments, results, inputs and outputs, alone and as a member, live and replayed: ${what} (RUN-143)`, async () => {
    await using at = await home?.open()
    const cs = at?.process(undefined, { codecs: [careless, codec] as never })
    const got: unknown[] = []
    const same = cs?.tool({
      name: 'same',
      compensate: 'not-needed',
      execute: async (given: unknown) => {
        got.push(given)
        return given
      },
    })
    const held = { a: value, list: [value] }
    const body = async (run: Run<unknown>): Promise<unknown> => {
      const result = [await same?.(held as never), await run.once('o', () => value), run.input]
      got.push(...result)
      return held
    }
    const output = await cs?.run({ id: 'r', name: 'r', input: held }, body as never)
    const replayed = await cs?.replay('r', body as never)
    assert.is(replayed?.verdict, 'exact')
    for (const each of [output, replayed?.output]) kept(each, value)
    assert.is(got.length, 7)
    for (const i of [0, 1, 3, 4, 6]) kept(got[i], value)
    for (const i of [2, 5]) assert.ok(Object.is(got[i], value), String(got[i]))
  })
}

function kept(held: unknown, value: unknown): void {
  const { a, list } = held as { a: unknown; list: unknown[] }
  assert.ok('a' in (held as object) && Object.is(a, value) && Object.is(list[0], value), String(a))
}

test('what is no codec is refused before a ledger is opened (RUN-163)', async () => {
  for (const codec of [
    { tag: 'x' },
    null,
    { ...careless, tag: 5 },
    { ...careless, is: true },
    { ...careless, tag: '' },
  ])
    assert.is(codeOf(await rejection(open({ path: ':memory:', codecs: [codec] as never }))), 'invalid-codec')
})

test.run()
