import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../schemas/json.ts'
import { ResultTooLarge } from '../../src/agent/loop/tool-error.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { codeOf, HOMES, rejection } from './homes.ts'

const sizes = suite('sizes of what a run takes and gives')

const EVENT_MAX_BYTES = 16_384
const text = (bytes: number): string => 'the quick brown fox, '.repeat(bytes / 21)

async function bytesOfEvents(events: AsyncIterable<{ readonly data: unknown }>): Promise<number> {
  let most = 0
  for await (const { data } of events) most = Math.max(most, Buffer.byteLength(JSON.stringify(data)))
  return most
}

for (const { name, open } of HOMES) {
  sizes(
    `${name}: an input and an output of 2 MB lie beside the events, and are the same live, again, on replay and in a branch (RUN-180)`,
    async () => {
      await using home = await open()
      const cs = home.process()
      const input = { pages: [text(2_000_000)] }
      let sent = 0
      const send = cs.tool(async (n: number) => ({ n, sent: ++sent }), { name: 'send', compensate: 'not-needed' })
      const body = async (run: { readonly input: typeof input }) => {
        await send(1)
        return { pages: run.input.pages, more: 'x'.repeat(2_000_000) }
      }
      const program = { id: 'report', name: 'report', input }
      const live = await cs.run(program, body)
      assert.equal(live, { pages: input.pages, more: 'x'.repeat(2_000_000) })
      assert.equal(await home.process().run(program, body), live, 'the recorded end')
      const replayed = await cs.replay('report', body)
      assert.equal([replayed.verdict, replayed.output], ['exact', live])
      const branched = await cs.branch('report', { atStep: 0, id: 'report-2' }, body)
      assert.equal(branched, live)
      assert.ok((await bytesOfEvents(home.connection.events('report'))) < EVENT_MAX_BYTES)
      assert.is(sent, 2)
    },
  )

  sizes(`${name}: a handoff is judged by what a large input holds (REC-22)`, async () => {
    await using home = await open()
    const hotels = Array.from({ length: 4_000 }, (_, n) => ({ id: `HAT${n}`, text: 'x'.repeat(20) }))
    const policy = { ungrounded: 'reject' } as const
    const judged = await home.process().run({ name: 'trip', input: { hotels }, policy }, async (run) => {
      const right = await run.handoff({ entities: ['HAT3999'] }, { agent: 'booker' })
      const wrong = await run.handoff({ entities: ['HAT3999', 'Zugspitze'] }, { agent: 'booker' })
      return [right.ok, wrong.ok]
    })
    assert.equal(judged, [true, false])
  })

  sizes(`${name}: a child run takes and gives as much as any other (RUN-180)`, async () => {
    await using home = await open()
    const cs = home.process()
    const body = () => cs.run({ name: 'child', input: text(600_000) }, async ({ input }) => `${input}${text(600_000)}`)
    const live = await cs.run({ id: 'parent', name: 'parent' }, body)
    assert.is(live.length, 2 * text(600_000).length)
    assert.equal((await cs.replay('parent', body)).output, live)
  })

  sizes(
    `${name}: the document of a saga is recorded with the large arguments and results of its steps (RUN-180)`,
    async () => {
      await using home = await open()
      const cs = home.process()
      const put = cs.tool(async (page: string) => ({ page }), { name: 'put', compensate: 'not-needed' })
      const steps = ['a', 'b'].map((id) => ({ id, tool: put, args: [`${id}${text(700_000)}`] }))
      const live = await cs.saga(steps as never, { id: 'pages', name: 'pages' })
      assert.is(live.status, 'SUCCESS')
      assert.equal(live.steps[0]?.args, [`a${text(700_000)}`])
      assert.equal(await cs.saga(steps as never, { id: 'pages', name: 'pages' }), live)
    },
  )

  sizes(
    `${name}: an output that is too large undoes nothing, the run is open and goes on with less (RUN-181)`,
    async () => {
      await using home = await open()
      const cs = home.process()
      const seen: string[] = []
      const charge = cs.tool(async (cents: number) => void seen.push(`charge ${cents}`), {
        name: 'charge',
        compensate: async () => void seen.push('refund'),
      })
      // More than the ledger is set to take, and more than any can be.
      for (const bytes of name === 'in process' ? [9_000_000, 70_000_000] : [9_000_000]) {
        const id = `order-${bytes}`
        const large = async (): Promise<string> => {
          await charge(bytes)
          return 'x'.repeat(bytes)
        }
        for (const life of bytes > 64 * 1024 * 1024 ? [1] : [1, 2]) {
          const error = await rejection(cs.run({ id, name: 'order' }, large))
          assert.is(codeOf(error), 'value-too-large', `life ${life}: ${error}`)
          assert.match(String(error), /nothing was undone/)
          assert.is(outcomeOf(error)?.status, 'OPEN')
        }
        const done = async (): Promise<string> => {
          await charge(bytes)
          return 'see s3://bucket'
        }
        assert.is(await cs.run({ id, name: 'order' }, done), 'see s3://bucket')
      }
      assert.not.ok(seen.includes('refund'))
      assert.is(seen.length, new Set(seen).size)
    },
  )

  sizes(`${name}: a child whose output is too large leaves itself and its parent open (RUN-181)`, async () => {
    await using home = await open()
    const cs = home.process()
    const undone: string[] = []
    const charge = cs.tool(async () => 'paid', { name: 'charge', compensate: async () => void undone.push('refund') })
    const program = (bytes: number) => async () => {
      await charge()
      return (await cs.run({ name: 'child' }, async () => 'x'.repeat(bytes))).length
    }
    const error = await rejection(cs.run({ id: 'parent', name: 'parent' }, program(9_000_000)))
    assert.is(codeOf(error), 'value-too-large')
    assert.is(outcomeOf(error)?.status, 'OPEN')
    assert.is(await cs.run({ id: 'parent', name: 'parent' }, program(10)), 10)
    assert.equal(undone, [])
  })

  sizes(`${name}: a result that is too large, and that the code does not catch, undoes nothing (RUN-181)`, async () => {
    await using home = await open()
    const cs = home.process()
    const undone: number[] = []
    const dump = cs.tool(async (bytes: number) => 'x'.repeat(bytes), {
      name: 'dump',
      compensate: ({ args: [bytes] }) => void undone.push(bytes),
    })
    const error = await rejection(cs.run({ id: 'dumps', name: 'dumps' }, () => dump(9_000_000)))
    assert.instance(error, ResultTooLarge)
    assert.is(outcomeOf(error)?.status, 'OPEN')
    const less = async (): Promise<string> => dump(9_000_000).catch(() => dump(10))
    assert.is(await cs.run({ id: 'dumps', name: 'dumps' }, less), 'x'.repeat(10))
    assert.equal(undone, [])
  })

  sizes(
    `${name}: a step of a saga whose result is too large undoes nothing, the run is open, and goes on past that step (RUN-196)`,
    async () => {
      await using home = await open()
      const cs = home.process()
      const undone: string[] = []
      const dump = cs.tool(async (bytes: number) => 'x'.repeat(bytes), {
        name: 'dump',
        compensate: ({ args: [bytes] }) => void undone.push(`${bytes}`),
      })
      const steps = (onFailure: string) =>
        [10, 9_000_000, 20].map((bytes) => ({ id: `${bytes}`, tool: dump, args: [bytes], onFailure })) as never
      const options = { id: 'dumps', name: 'dumps' }
      const error = await rejection(cs.saga(steps('roll-back'), options))
      assert.instance(error, ResultTooLarge)
      assert.is(outcomeOf(error)?.status, 'OPEN')
      assert.equal(undone, [])
      const { status, steps: came } = await cs.saga(steps('continue'), options)
      assert.is(status, 'PARTLY_SUCCEEDED')
      assert.equal(
        came.map((step) => [step.status, step.attempts]),
        [
          ['succeeded', 1],
          ['failed', 1],
          ['succeeded', 1],
        ],
      )
      assert.equal(undone, [])
    },
  )

  for (const what of ['hands over', 'meets'])
    sizes(
      `${name}: a fork of which a branch ${what} too much undoes nothing, and the code may go on (RUN-196)`,
      async () => {
        await using home = await open()
        const cs = home.process()
        const undone: string[] = []
        const charge = cs.tool(async (branch: string) => branch, {
          name: 'charge',
          compensate: async ({ args: [branch] }) => void undone.push(branch),
        })
        const dump = cs.tool(async (bytes: number) => 'x'.repeat(bytes), { name: 'dump', compensate: 'not-needed' })
        const forked = (run: Run<Json>) => {
          const branches = ['p', 'q'].map((agent) => ({
            agent,
            run: async () => {
              await charge(agent)
              return { page: what === 'meets' ? (await dump(9_000_000)).slice(0, 3) : text(600_000) }
            },
          }))
          return run.fork(branches, { join: 'union' })
        }
        for (const life of [1, 2]) {
          const error = await rejection(cs.run({ id: 'forks', name: 'forks' }, forked))
          assert.is(codeOf(error), 'fork-failed', `life ${life}: ${error}`)
          assert.is(outcomeOf(error)?.status, 'OPEN')
        }
        const goesOn = async (run: Run<Json>): Promise<Json> => {
          assert.is(codeOf(await rejection(forked(run))), 'fork-failed')
          await run.handoff({ page: 'see s3://bucket' }, { agent: 'p' })
          return 'done'
        }
        assert.is(await cs.run({ id: 'forks', name: 'forks' }, goesOn), 'done')
        assert.is((await cs.replay('forks', goesOn)).verdict, 'exact')
        assert.equal(undone, [])
      },
    )

  for (const [bytes, ways] of [
    [600_000, ['handoff', 'step']],
    [9_000_000, ['handoff']],
  ] as const) {
    sizes(
      `${name}: a handoff of ${bytes} bytes undoes nothing, and a resume may hand over less (RUN-181)`,
      async () => {
        await using home = await open()
        const cs = home.process()
        const undone: string[] = []
        const charge = cs.tool(async () => 'paid', {
          name: 'charge',
          compensate: async () => void undone.push('refund'),
        })
        const hand = (run: Run<Json>, way: string, page: string): Promise<unknown> =>
          way === 'step' ? run.step('writer', () => ({ page })) : run.handoff({ page }, { agent: 'writer' })
        for (const way of ways) {
          const once = async (run: Run<Json>): Promise<string> => {
            await charge()
            await hand(run, way, text(bytes))
            return 'done'
          }
          for (const life of [1, 2]) {
            const error = await rejection(cs.run({ id: way, name: 'pages' }, once))
            assert.is(codeOf(error), 'context-too-large', `${way}, life ${life}: ${error}`)
            assert.is(outcomeOf(error)?.status, 'OPEN')
          }
          const thenLess = async (run: Run<Json>): Promise<string> => {
            await charge()
            assert.is(codeOf(await rejection(hand(run, way, text(bytes)))), 'context-too-large')
            await run.handoff({ page: 'see s3://bucket' }, { agent: 'writer' })
            return 'done'
          }
          assert.is(await cs.run({ id: way, name: 'pages' }, thenLess), 'done')
        }
        assert.equal(undone, [])
      },
    )
  }
}

sizes.run()
