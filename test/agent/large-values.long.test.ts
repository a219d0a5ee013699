import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ResultTooLarge } from '../../src/agent/loop/tool-error.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { within } from '../support/within.ts'
import { codeOf, HOMES, killedAfter, rejection } from './homes.ts'

const large = suite('large values of calls')

const PART = 'the quick brown fox "jumps" \u{1f98a}\n'
const textOf = (bytes: number): string =>
  PART.repeat(Math.ceil(bytes / PART.length))
    .slice(0, bytes)
    .replace(/[\ud800-\udbff]$/u, '.')
const EVENT_MAX_BYTES = 4_096

async function bytesOfEvents(events: AsyncIterable<{ readonly data: unknown }>): Promise<number> {
  let most = 0
  for await (const { data } of events) most = Math.max(most, Buffer.byteLength(JSON.stringify(data)))
  return most
}

for (const { name, open } of HOMES) {
  large(
    `${name}: arguments and results of 5 MB are recorded by reference, and served on resume and replay (REC-19)`,
    async () => {
      await using home = await open()
      let runs = 0
      const program = (cs: ReturnType<typeof home.process>, then: () => unknown) => {
        const fetchPage = cs.tool(
          async (query: string) => {
            runs += 1
            return { query: query.length, rows: textOf(5_000_000) }
          },
          { name: 'fetchPage', compensate: 'not-needed' },
        )
        return async () => {
          const { rows } = await fetchPage(textOf(200_000))
          await then()
          return rows === textOf(5_000_000) ? rows.length : 'another value'
        }
      }
      const first = home.process()
      let reach = (): void => undefined
      const recorded = new Promise<void>((resolve) => {
        reach = resolve
      })
      const hangs = (): Promise<never> => {
        reach()
        return new Promise(() => {})
      }
      void first.run({ id: 'page', name: 'page' }, program(first, hangs)).catch(() => undefined)
      await within(recorded, 'the record of the result')
      const cs = home.process()
      const body = program(cs, () => undefined)
      assert.is(await cs.run({ id: 'page', name: 'page' }, body), textOf(5_000_000).length)
      assert.is(runs, 1)
      assert.is((await cs.replay('page', body)).verdict, 'exact')
      assert.ok((await bytesOfEvents(home.connection.events('page'))) < EVENT_MAX_BYTES)
    },
  )

  large(`${name}: a compensation gets the large arguments and results of its call`, async () => {
    await using home = await open()
    const cs = home.process()
    const seen: unknown[] = []
    const put = cs.tool(async (text: string) => ({ stored: text }), {
      name: 'put',
      compensate: ({ args: [text], result }) => void seen.push(text.length, result.stored === text),
    })
    const error = await rejection(
      cs.run({ name: 'order' }, async () => {
        await put(textOf(100_000))
        throw new Error('sold out')
      }),
    )
    assert.is(outcomeOf(error)?.status, 'COMPENSATED')
    assert.equal(seen, [textOf(100_000).length, true])
  })

  large(
    `${name}: a result over the limit is refused to its caller as an answer, and the run goes on (RUN-70)`,
    async () => {
      await using home = await open()
      const cs = home.process()
      let ran = 0
      const undone: number[] = []
      const dump = cs.tool(
        async (bytes: number) => {
          ran += 1
          return 'x'.repeat(bytes)
        },
        { name: 'dump', compensate: ({ args: [bytes] }) => void undone.push(bytes) },
      )
      const body = async (): Promise<string> => {
        const error = await rejection(dump(9_000_000))
        assert.instance(error, ResultTooLarge)
        return (await dump(10)).concat((error as Error).message.includes('too large') ? '!' : '')
      }
      assert.is(await cs.run({ id: 'dumps', name: 'dumps' }, body), `${'x'.repeat(10)}!`)
      assert.is((await cs.replay('dumps', body)).verdict, 'exact')
      assert.is(ran, 2)
      await rejection(
        cs.run({ name: 'thrown' }, async () => {
          await rejection(dump(9_000_000))
          throw new Error('no')
        }),
      )
      assert.equal(undone, [9_000_000], 'a rollback undoes a call whose result is not there')
    },
  )

  large(`${name}: the run is rolled back for a result over the limit where its tool says so`, async () => {
    await using home = await open()
    const cs = home.process()
    const dump = cs.tool(async () => 'x'.repeat(9_000_000), {
      name: 'dump',
      compensate: 'not-needed',
      onTooLarge: 'roll-back',
    })
    const error = await rejection(cs.run({ name: 'dumps' }, async () => rejection(dump())))
    assert.is(codeOf(error), 'result-not-recorded')
    assert.is(outcomeOf(error)?.status, 'COMPENSATED')
  })

  large(
    `${name}: of a tool with record "digest" only a digest is recorded; a replay says so, a resume asks its check (RUN-71)`,
    async () => {
      await using home = await open()
      const secret = 'the patient is well'
      const told = (cs: ReturnType<typeof home.process>, known: boolean) =>
        cs.tool(async () => secret, {
          name: 'diagnose',
          compensate: 'not-needed',
          record: 'digest',
          ...(known && { check: () => ({ done: true, result: secret }) as const }),
        })
      const first = home.process()
      const diagnose = told(first, false)
      assert.is(await first.run({ id: 'ward', name: 'ward' }, () => diagnose()), secret)
      for await (const { type, data } of home.connection.events('ward')) {
        if (type === 'RunCompleted') continue
        assert.not.ok(JSON.stringify(data).includes('patient'), type)
      }
      assert.is(codeOf(await rejection(first.replay('ward', () => diagnose()))), 'not-recorded')

      const { change, dead } = killedAfter(3, true)
      const dying = home.process(change)
      const before = told(dying, false)
      void dying.run({ id: 'ward-2', name: 'ward' }, () => before()).catch(() => undefined)
      await dead
      const blind = home.process()
      const unknown = told(blind, false)
      assert.is(codeOf(await rejection(blind.run({ id: 'ward-2', name: 'ward' }, () => unknown()))), 'not-recorded')
      const knowing = home.process()
      const asked = told(knowing, true)
      assert.is(await knowing.run({ id: 'ward-2', name: 'ward' }, () => asked()), secret)
    },
  )

  large(`${name}: a handoff is judged by what a large result holds (REC-22)`, async () => {
    await using home = await open()
    const cs = home.process()
    const rows = Array.from({ length: 4_000 }, (_, n) => ({ id: `HAT${n}`, price: 100 + n, text: 'x'.repeat(40) }))
    const search = cs.tool(async () => ({ hotels: rows }), { name: 'search', compensate: 'not-needed' })
    const booked = (id: string, price: number) => ({ hotel: { id, price } })
    const refusedAt = await cs.run({ name: 'trip', policy: { ungrounded: 'reject' } }, async (run) => {
      await search()
      const right = await run.handoff(booked('HAT3999', 4_099), { agent: 'booker' })
      const wrong = await run.handoff(
        { ...booked('HAT3999', 4_099), second: { id: 'HAT12', price: 555_555 } },
        { agent: 'booker' },
      )
      return [right.ok, wrong.ok]
    })
    assert.equal(refusedAt, [true, false])
  })
}

large.run()
