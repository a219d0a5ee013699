import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { dateCodec } from '../../src/agent/calls/codecs.ts'
import { RecordedFailure } from '../../src/agent/errors.ts'
import { ToolError } from '../../src/agent/loop/tool-error.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { codeOf, HOMES, NO_WAIT, rejection, type TestHome } from './homes.ts'

class NotFound extends Error {
  override readonly name = 'NotFound'
  readonly where: unknown
  readonly #secret = 1

  constructor(where: unknown) {
    super(`nothing at ${JSON.stringify(where)}`)
    this.where = where
  }

  get hasSecret(): boolean {
    return #secret in this
  }
}
class Deeper extends NotFound {}

/** What `body` catches of a tool that throws, live and replayed. */
async function caught(
  home: TestHome,
  thrown: () => unknown,
  errors: readonly (abstract new (...args: never[]) => Error)[] = [],
): Promise<readonly [Error, Error]> {
  const came: unknown[] = []
  const life = (cs: Countersign) => {
    const fails = cs.tool(
      async () => {
        throw thrown()
      },
      { name: 'fails', compensate: 'not-needed', backoff: NO_WAIT, errors },
    )
    return async (): Promise<void> => {
      came.push(await rejection(fails()))
    }
  }
  const first = home.process()
  await first.run({ id: 'r', name: 'r' }, life(first))
  const second = home.process()
  await second.replay('r', life(second))
  return came as unknown as readonly [Error, Error]
}

const members = (error: Error): object => ({ ...error, message: error.message, stack: undefined })

for (const { name, open } of HOMES) {
  const test = suite(`caught errors ${name}`)

  test('an error of a class that the tool names is caught as itself, with its own members (RUN-141)', async () => {
    await using home = await open()
    const [live, later] = await caught(home, () => new NotFound({ z: 1, a: new Date(0) }), [NotFound])
    assert.instance(live, NotFound)
    assert.instance(later, NotFound)
    assert.equal(members(live), members(later))
    assert.equal((later as NotFound).where, { a: '1970-01-01T00:00:00.000Z', z: 1 })
    assert.is((live as NotFound).hasSecret, (later as NotFound).hasSecret)
    assert.instance(live.cause, NotFound)
    assert.is(later.cause, undefined)
  })

  test('of several classes the most special one is made again (RUN-141)', async () => {
    await using home = await open()
    const [live, later] = await caught(home, () => new Deeper('x'), [NotFound, Deeper])
    assert.is(Object.getPrototypeOf(live), Deeper.prototype)
    assert.is(Object.getPrototypeOf(later), Deeper.prototype)
  })

  for (const [what, thrown] of [
    ['an error of a class of its own', () => new NotFound('x')],
    ['a text', () => 'only a text'],
    ['a plain object', () => ({ code: 'E_PLAIN', message: 'plain' })],
    ['nothing', () => undefined],
    ['an answer over HTTP', () => Object.assign(new Error('busy'), { statusCode: 503, code: 'busy' })],
  ] as const) {
    test(`${what} is caught as the same failure live as from the record (RUN-141)`, async () => {
      await using home = await open()
      const [live, later] = await caught(home, thrown)
      assert.instance(live, RecordedFailure)
      assert.instance(later, RecordedFailure)
      assert.equal(members(live), members(later))
      assert.equal(live.cause, thrown())
    })
  }

  test('a failure that a model may read is a ToolError both times (RUN-141)', async () => {
    await using home = await open()
    const [live, later] = await caught(home, () => new ToolError('no room'))
    assert.instance(live, ToolError)
    assert.instance(later, ToolError)
    assert.equal(members(live), members(later))
  })

  test('classes without a name that a build keeps are refused where the tool is made', async () => {
    await using home = await open()
    const cs = home.process()
    const Twice = { NotFound: class NotFound extends Error {} }.NotFound
    for (const errors of [
      [NotFound, Twice],
      [class extends Error {}],
      [class a extends Error {}],
      ['NotFound' as never],
    ])
      assert.is(codeOf(await rejection((async () => cs.tool(() => 1, { name: 't', errors }))())), 'invalid-errors')
  })

  test('a refusal by a budget is the same live as from the record (RUN-142)', async () => {
    await using home = await open()
    const came: unknown[] = []
    const life = (cs: Countersign) => {
      const costly = cs.tool(() => 1, { name: 'costly', reserve: { tokens: 11, agent: 'a' } })
      return async (): Promise<void> => {
        const { message, evidence, code } = (await rejection(costly())) as Error & { evidence: object; code: string }
        came.push(JSON.stringify({ message, evidence, code }))
      }
    }
    const [first, second] = [home.process(), home.process()]
    await first.run({ id: 'r', name: 'r', budget: { tokens: 10 } }, life(first))
    await second.replay('r', life(second))
    assert.is(came[0], came[1])
  })

  test('without its codec a value is codec-missing, never raw (RUN-143)', async () => {
    await using home = await open()
    const life = (cs: Countersign) => {
      const when = cs.tool(() => ({ at: new Date(0) }) as unknown, { name: 'when', compensate: 'not-needed' })
      return () => when()
    }
    const first = home.process(undefined, { codecs: [dateCodec] as never })
    assert.equal(await first.run({ id: 'r', name: 'r' }, life(first)), { at: new Date(0) })
    const second = home.process()
    const body = life(second)
    assert.is(codeOf(await rejection(second.run({ id: 'r', name: 'r' }, body))), 'codec-missing')
    assert.is(codeOf(await rejection(second.replay('r', body))), 'codec-missing')
  })

  test('a plain object that looks like a codec’s work stays plain, with codecs and without (RUN-143)', async () => {
    await using home = await open()
    const looks = { $codec: 'Date', value: '1970-01-01T00:00:00.000Z' }
    for (const [i, codecs] of [[], [dateCodec]].entries()) {
      const life = (cs: Countersign) => {
        const echo = cs.tool((arg: object) => ({ got: arg }), { name: 'echo', compensate: 'not-needed' })
        return async (): Promise<unknown> => [await echo(looks), await echo({ deeper: [looks] })]
      }
      const [first, second] = [1, 2].map(() => home.process(undefined, { codecs: codecs as never })) as [
        Countersign,
        Countersign,
      ]
      const expected = [{ got: looks }, { got: { deeper: [looks] } }]
      assert.equal(await first.run({ id: `r${i}`, name: 'r' }, life(first)), expected)
      const { output } = await second.replay(`r${i}`, life(second))
      assert.equal(output, expected)
    }
  })

  test('callers of one call have a copy each (RUN-140)', async () => {
    await using home = await open()
    const cs = home.process()
    const give = cs.tool(async () => ({ list: [1] }), { name: 'give', compensate: 'not-needed' })
    await cs.run({ name: 'r' }, async () => {
      const [one, two] = await Promise.all([give(), give()])
      one.list.push(2)
      assert.equal(two, { list: [1] })
      assert.equal(await give(), { list: [1] })
    })
  })

  test('each try of a tool is given its arguments afresh (RUN-140)', async () => {
    await using home = await open()
    const cs = home.process()
    const seen: number[] = []
    const grow = cs.tool(
      async (list: number[]) => {
        seen.push(list.push(0))
        if (seen.length < 3) throw new Error('again')
        return list
      },
      { name: 'grow', retries: 2, backoff: NO_WAIT, compensate: 'not-needed' },
    )
    const mine = [7]
    assert.equal(await cs.run({ name: 'r' }, async () => grow(mine)), [7, 0])
    assert.equal(seen, [2, 2, 2])
    assert.equal(mine, [7])
  })

  test.run()
}
