import { Readable } from 'node:stream'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bufferCodec, Codecs, dateCodec, mapCodec, setCodec } from '../../src/agent/calls/codecs.ts'
import { identifying, recordable } from '../../src/agent/calls/recordable.ts'
import type { AgentError } from '../../src/agent/errors.ts'
import { createRuntime } from '../../src/agent/runtime/runtime.ts'
import { codeOf, HOMES, killedAfter, rejection } from './homes.ts'

const ALL = [dateCodec, mapCodec, setCodec, bufferCodec] as const
class Money {
  readonly #cents: number
  constructor(cents: number) {
    this.#cents = cents
  }
  get cents(): number {
    return this.#cents
  }
}

const values = suite('what a record can tell apart')

values('what JSON would alter is refused, with its path (A150)', () => {
  const refused: readonly (readonly [unknown, string])[] = [
    [new Map([[1, 2]]), ''],
    [[new Set([1])], '/0'],
    [{ query: new URLSearchParams('pay=500') }, '/query'],
    [{ a: { 'b/c': () => 1 } }, '/a/b~1c'],
    [[new Error('no')], '/0'],
    [{ note: undefined }, '/note'],
    [[1, undefined], '/1'],
    [new Array(1), '/0'],
    [{ amount: Number.NaN }, '/amount'],
    [new Date(0), ''],
    [Buffer.from('a'), ''],
    [new Uint8Array(2), ''],
    [new Response('a'), ''],
    [Readable.from(['a']), ''],
    [new ReadableStream(), ''],
    [new Money(500), ''],
    [{ [Symbol('a')]: 1 }, ''],
    [Symbol('a'), ''],
    [Promise.resolve(1), ''],
    [new Number(5), ''],
  ]
  for (const [value, path] of refused) {
    const kept = identifying([value])
    assert.is(kept.ok, false, String(path))
    assert.is(!kept.ok && kept.path, `/0${path}`)
  }
  for (const value of [null, undefined, 'a', -1.5, [], {}, Object.create(null), { a: [{ b: null }] }])
    assert.ok(identifying(value).ok)
})

values('two values with one record are one value: property over plain data and what codecs keep (A151)', () => {
  const codecs = new Codecs(ALL)
  const special = fc.oneof(
    fc.date({ noInvalidDate: true }),
    fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
    fc.dictionary(fc.constantFrom('$codec', 'value', 'tag', 'a'), fc.constantFrom('Date', 'object', 1, null), {
      noNullPrototype: true,
    }),
  )
  const leaf = fc.oneof(special, fc.string(), fc.integer(), fc.boolean(), fc.constant(null))
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('$codec', 'value', 'a'), tie('tree'), { maxKeys: 3, noNullPrototype: true }),
      fc.array(fc.tuple(fc.string(), tie('tree')), { maxLength: 2 }).map((entries) => new Map(entries)),
      fc.array(leaf, { maxLength: 3 }).map((items) => new Set(items)),
    ),
  }))
  fc.assert(
    fc.property(tree, (value) => {
      const kept = identifying(value, codecs)
      assert.ok(kept.ok, kept.ok ? '' : kept.reason)
      if (kept.ok) assert.equal(codecs.decode(JSON.parse(JSON.stringify(kept.value))), bare(value))
    }),
    { numRuns: 300 },
  )
})

values('a result is what JSON makes of it, unless nothing would be left of a part (A152)', () => {
  class Point {
    x = 1
    f = (): number => 1
  }
  assert.equal(recordable({ at: new Date(0), gone: undefined, p: new Point() }), {
    ok: true,
    value: { at: '1970-01-01T00:00:00.000Z', p: { x: 1 } },
  })
  for (const value of [new Map(), { a: new Set([1]) }, [new Error('a')], Readable.from(['a']), new Response('a')])
    assert.is(recordable(value).ok, false)
})

values(
  'a codec that fails is reported with the path; a tag twice is refused; a record of a missing codec is not guessed at',
  () => {
    const kept = identifying({ at: [new Date(Number.NaN)] }, new Codecs([dateCodec]))
    assert.match(kept.ok ? '' : kept.reason, /the codec Date cannot record what is at \/at\/0/)
    assert.throws(() => new Codecs([dateCodec, dateCodec]), /a tag of its own/)
    const record = identifying(new Map(), new Codecs([mapCodec]))
    assert.throws(() => new Codecs([dateCodec]).decode(record.ok && record.value), /no codec of that tag/)
  },
)

function broken(): never {
  throw new TypeError('the codec is broken')
}

/** Prototypes do not survive a dictionary. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare)
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, bare(item)]))
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value
  if (value instanceof Date || value instanceof Set) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, bare(item)]))
}

values.run()

for (const { name, open } of HOMES) {
  const calls = suite(`arguments and results ${name}`)

  calls('arguments that JSON cannot tell apart are refused before anything runs (RUN-50, A150)', async () => {
    await using home = await open()
    const cs = home.process()
    const sent: string[] = []
    const send = cs.tool((to: string, body: URLSearchParams) => sent.push(`${to} ${body}`), { name: 'send' })
    const error = await rejection(
      cs.run({ id: 'r' }, async () => {
        await send('bank', new URLSearchParams('pay=5'))
        await send('bank', new URLSearchParams('pay=500'))
      }),
    )
    assert.is(codeOf(error), 'not-recordable')
    assert.equal((error as AgentError).evidence, { tool: 'send', path: '/1' })
    assert.equal(sent, [])
    const input = await rejection(cs.run({ id: 's', input: { since: new Date() } }, () => 1))
    assert.is(codeOf(input), 'not-recordable')
  })

  calls('a result of which nothing would be left is reported, and the run is rolled back (RUN-11, A152)', async () => {
    await using home = await open()
    const cs = home.process()
    const undone: unknown[] = []
    const load = cs.tool(() => new Map([['a', 1]]) as unknown, {
      name: 'load',
      compensate: ({ result }) => undone.push(result),
    })
    const error = await rejection(cs.run({ id: 'r' }, () => load()))
    assert.is(codeOf(error), 'result-not-recorded')
    assert.equal(undone, [new Map([['a', 1]])])
  })

  calls(
    'what codecs keep is the same live, after a kill, in a compensation, a check and a replay (RUN-50)',
    async () => {
      await using home = await open()
      const seen: unknown[] = []
      const life = (cs: ReturnType<typeof createRuntime<typeof ALL>>) => {
        const book = cs.tool((at: Date, bytes: Buffer) => ({ at, left: new Map([['seats', bytes]]) }), {
          name: 'book',
          compensate: ({ args: [at], result }) => seen.push(at instanceof Date, result.left),
        })
        const stop = cs.tool(() => Promise.reject(new Error('full')), { name: 'stop' })
        return async (run: { input: { at: Date } }) => {
          const { at, left } = await book(run.input.at, Buffer.from('b'))
          seen.push(at instanceof Date, left)
          await stop()
        }
      }
      const input = { at: new Date(86_400_000) }
      const { change, dead } = killedAfter(3, true)
      const first = createRuntime(change(home.connection), { codecs: ALL })
      first.run({ id: 'r', input }, life(first)).catch(() => undefined)
      await dead
      home.clock.nowMs += 15 * 60_000
      const seats = new Map([['seats', Buffer.from('b')]])
      seen.length = 0
      const second = createRuntime(home.connection, { codecs: ALL })
      await rejection(second.run({ id: 'r', input }, life(second)))
      assert.equal(seen, [true, seats, true, seats])
      seen.length = 0
      const third = createRuntime(home.connection, { codecs: ALL })
      assert.is((await third.replay('r', life(third))).verdict, 'exact')
      assert.equal(seen, [true, seats])
      const bare = createRuntime(home.connection)
      const without = await rejection(bare.replay('r', () => bare.tool((..._: unknown[]) => 1, { name: 'book' })(1)))
      assert.is.not(codeOf(without), undefined)
    },
  )

  calls(
    'a codec that fails runs nothing, loses nothing and guesses nothing, wherever it fails (RUN-50, A209)',
    async () => {
      await using home = await open()
      class Money {
        readonly cents: number
        constructor(cents: number) {
          this.cents = cents
        }
      }
      const codec = (fails: 'encode' | 'decode' | 'never') => ({
        tag: 'Money',
        is: (value: unknown): value is Money => value instanceof Money,
        encode: ({ cents }: Money): number => (fails === 'encode' ? broken() : cents),
        decode: (cents: unknown): Money => (fails === 'decode' ? broken() : new Money(cents as number)),
      })
      const effects: unknown[] = []
      const life = (fails: Parameters<typeof codec>[0]) => {
        const cs = createRuntime(home.connection, { codecs: [codec(fails)] })
        const pay = cs.tool(({ cents }: Money) => effects.push(cents), { name: 'pay' })
        const quote = cs.tool(() => new Money(7), { name: 'quote' })
        return { cs, pay, quote }
      }
      const first = life('encode')
      const given = await rejection(first.cs.run({ id: 'given' }, () => first.pay(new Money(1))))
      assert.is(codeOf(given), 'not-recordable')
      assert.match(String(given), /codec Money cannot record what is at/)
      assert.equal(effects, [])
      const answered = await rejection(first.cs.run({ id: 'answered' }, () => first.quote()))
      assert.is(codeOf(answered), 'result-not-recorded')

      const whole = life('never')
      const left = { id: 'left', whenWaiting: 'leave' as const }
      const body = (of: typeof whole) => async (run: { waitFor: (name: string) => Promise<unknown> }) => {
        await of.pay(await of.quote())
        await run.waitFor('go')
        return 'done'
      }
      assert.is(codeOf(await rejection(whole.cs.run(left, body(whole)))), 'run-waiting')
      assert.equal(effects, [7])
      const unreadable = life('decode')
      assert.is(codeOf(await rejection(unreadable.cs.run(left, body(unreadable)))), 'codec-failed')
      assert.equal(effects, [7])
      await whole.cs.signal('left', 'go', 1)
      assert.is(await whole.cs.run(left, body(whole)), 'done')
      assert.equal(effects, [7])
    },
  )

  calls.run()
}
