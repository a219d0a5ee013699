import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { OutcomeUnknown } from '../../src/agent/errors.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { type SagaResult, sagaReport } from '../../src/agent/saga/saga-result.ts'
import type { SagaSteps } from '../../src/agent/saga/saga-steps.ts'
import { within } from '../support/within.ts'
import { codeOf, HOMES, killedAfter, LONG_MS, NO_WAIT, rejection } from './homes.ts'

for (const { name, open } of HOMES) {
  const saga = suite(`sagas ${name}`)

  /** Tools that log what they do; `bad` fails. */
  const travel = (cs: Countersign, log: string[]) => {
    for (const tool of ['a', 'b', 'c']) {
      cs.tool({
        name: tool,
        execute: async ({ n }: { n: number }) => log.push(`${tool}${n}`),
        compensate: async ({ args }) => void log.push(`undo ${tool}${args.n}`),
      })
    }
    cs.tool({
      name: 'bad',
      backoff: NO_WAIT,
      execute: async () => {
        throw new Error('bad luck')
      },
    })
  }

  saga('groups go in order, their calls side by side; rolled back in reverse', async () => {
    await using home = await open()
    const cs = home.process()
    const log: string[] = []
    travel(cs, log)
    const steps = [
      { tool: 'a', args: { n: 1 }, id: 'first' },
      [
        { tool: 'b', args: { n: 2 } },
        { tool: 'c', args: { n: 3 } },
      ],
      { tool: 'bad' },
      { tool: 'a', args: { n: 4 } },
    ]
    const result = await cs.saga(steps)
    assert.is(result.status, 'COMPENSATED')
    assert.equal(log.slice(0, 3), ['a1', 'b2', 'c3'])
    assert.equal(log.slice(3, 5).sort(), ['undo b2', 'undo c3'])
    assert.equal(log.slice(5), ['undo a1'])
    assert.equal(
      result.steps.map(({ id, status }) => [id, status]),
      [
        ['first', 'compensated'],
        ['2.1', 'compensated'],
        ['2.2', 'compensated'],
        ['3', 'failed'],
        ['4', 'not-run'],
      ],
    )
    assert.is(result.error?.message, 'bad luck')
    assert.equal(JSON.parse(JSON.stringify(result)), result, 'the document is plain JSON')
    const lines = sagaReport(result).split('\n')
    assert.is(lines.length, 8)
    assert.match(lines[5] ?? '', /bad +failed +1/)
  })

  saga(
    'a step that may fail is FAILED once its retries are used up, and the saga goes on; resumed and replayed alike (RUN-81)',
    async () => {
      await using home = await open()
      const log: string[] = []
      const steps: SagaSteps = [
        { tool: 'a', args: { n: 1 } },
        [
          { tool: 'bad', onFailure: 'continue' },
          { tool: 'b', args: { n: 2 } },
        ],
        { tool: 'c', args: { n: 3 } },
      ]
      const life = (cs: Countersign) => {
        travel(cs, log)
        return cs.saga(steps, { id: 'trip' })
      }
      const { change, dead } = killedAfter(8, true)
      life(home.process(change)).catch(() => undefined)
      await within(dead, 'the death')
      home.clock.nowMs += LONG_MS
      const result = await life(home.process())
      assert.is(result.status, 'PARTLY_SUCCEEDED')
      assert.equal(
        result.steps.map(({ tool, status, error }) => [tool, status, error?.message]),
        [
          ['a', 'succeeded', undefined],
          ['bad', 'failed', 'bad luck'],
          ['b', 'succeeded', undefined],
          ['c', 'succeeded', undefined],
        ],
      )
      assert.equal(log.sort(), ['a1', 'b2', 'c3'])
      assert.is(result.error, undefined)
      const statuses = ({ steps: all }: SagaResult) => all.map(({ status }) => status)
      assert.equal(statuses(await life(home.process())), statuses(result), 'asked again, the record answers')
      const body = async (run: Run) => (await run.saga(steps)).steps.map(({ status }) => status)
      const other = home.process()
      travel(other, [])
      await other.run({ id: 'plain', name: 'plain' }, body)
      const { verdict } = await other.replay('plain', body)
      assert.is(verdict, 'exact')
      assert.is(log.length, 3)
    },
  )

  saga('what is in doubt, or was refused by the ledger, is never passed over (RUN-81)', async () => {
    await using home = await open()
    const cs = home.process()
    const log: string[] = []
    travel(cs, log)
    cs.tool(() => Promise.reject(new OutcomeUnknown()), { name: 'unsure', onFailure: 'continue' })
    cs.tool(() => log.push('dear'), { name: 'dear', reserve: { tokens: 11 }, onFailure: 'continue' })
    cs.tool(() => Promise.reject(new Error('no')), { name: 'mild', onFailure: 'continue' })
    const saga = (tool: string, options: object = {}) => cs.saga([{ tool: 'a', args: { n: 1 } }, { tool }], options)
    assert.is((await saga('unsure')).status, 'IN_DOUBT')
    assert.is((await saga('dear', { budget: { tokens: 10 } })).status, 'COMPENSATED')
    assert.is((await saga('mild')).status, 'PARTLY_SUCCEEDED', 'the tool itself may say so')
    const stop = await cs.saga([{ tool: 'mild', onFailure: 'roll-back' }])
    assert.is(stop.status, 'COMPENSATED', 'and the step has the last word')
    assert.equal(log, ['a1', 'undo a1', 'a1', 'undo a1', 'a1'])
    const unknown = [{ tool: 'mild', onFailure: 'ignore' }] as unknown as SagaSteps
    assert.is(codeOf(await rejection(cs.saga(unknown))), 'invalid-saga')
  })

  saga(
    'the report says when each step was undone, as the ledger recorded it, then and ever after (RUN-82)',
    async () => {
      await using home = await open()
      const log: string[] = []
      const life = () => {
        const cs = home.process()
        travel(cs, log)
        return cs.saga([{ tool: 'a', args: { n: 1 } }, { tool: 'b', args: { n: 2 } }, { tool: 'bad' }], { id: 'trip' })
      }
      const result = await life()
      const recorded = new Map<string, string>()
      for await (const { time, data } of home.connection.events('trip', 'CompensationSucceeded')) {
        recorded.set(String(data.compensates), time)
      }
      assert.is(recorded.size, 2)
      for (const { callId = '', status, compensatedAt } of result.steps) {
        assert.is(compensatedAt, status === 'compensated' ? recorded.get(callId) : undefined)
      }
      assert.equal(new Map(result.compensated.map(({ callId, compensatedAt }) => [callId, compensatedAt])), recorded)
      assert.match(sagaReport(result), new RegExp(`undone ${[...recorded.values()][0]}`))
      const times = ({ steps }: SagaResult) => steps.map(({ compensatedAt }) => compensatedAt)
      assert.equal(times(await life()), times(result))
    },
  )

  saga('equal steps are two calls', async () => {
    await using home = await open()
    const cs = home.process()
    const log: string[] = []
    travel(cs, log)
    const twice = [
      { tool: 'a', args: { n: 1 } },
      { tool: 'a', args: { n: 1 } },
    ]
    assert.is((await cs.saga(twice)).status, 'SUCCESS')
    assert.equal(log, ['a1', 'a1'])
  })

  saga('in a run a failed one is a value, rolled back in its own scope; the run goes on', async () => {
    await using home = await open()
    const cs = home.process()
    const log: string[] = []
    travel(cs, log)
    const keep = cs.tool(() => log.push('keep'), { name: 'keep', compensate: () => void log.push('undo keep') })
    const [failed, good] = await cs.run(async (run) => {
      await keep()
      const first = await run.saga([{ tool: 'a', args: { n: 1 } }, { tool: 'bad' }])
      const second = await run.saga([{ tool: 'b', args: { n: 2 } }])
      return [first.status, second.status]
    })
    assert.equal([failed, good], ['COMPENSATED', 'SUCCESS'])
    assert.equal(log, ['keep', 'a1', 'undo a1', 'b2'])
  })

  saga('a plan that cannot be carried out is refused before anything runs', async () => {
    await using home = await open()
    const cs = home.process()
    const log: string[] = []
    travel(cs, log)
    const stranger = home.process().tool(() => 1, { name: 'a' })
    const refused = async (steps: unknown): Promise<unknown> => codeOf(await rejection(cs.saga(steps as SagaSteps)))
    const good = { tool: 'a', args: { n: 1 } }
    assert.is(await refused([good, { tool: 'nobody' }]), 'unknown-tool')
    assert.is(await refused([good, { tool: stranger }]), 'unknown-tool')
    assert.is(await refused([good, [[good]]]), 'invalid-saga')
    assert.is(await refused([good, 'a']), 'invalid-saga')
    assert.is(await refused('a'), 'invalid-saga')
    assert.is(
      await refused([
        { ...good, id: 'x' },
        { ...good, id: 'x' },
      ]),
      'invalid-saga',
    )
    assert.equal(log, [])
  })

  saga('killed and resumed, it goes on where it was; ended, it answers from the record', async () => {
    await using home = await open()
    const log: string[] = []
    const life = (cs: Countersign) => {
      travel(cs, log)
      const steps = [{ tool: 'a', args: { n: 1 } }, { tool: 'b', args: { n: 2 } }, { tool: 'bad' }]
      return cs.saga(steps, { id: 'trip' })
    }
    const { change, dead } = killedAfter(5, true)
    life(home.process(change)).catch(() => undefined)
    await within(dead, 'the death')
    home.clock.nowMs += LONG_MS
    assert.equal(log, ['a1', 'b2'])
    const result = await life(home.process())
    assert.equal(log, ['a1', 'b2', 'undo b2', 'undo a1'])
    const again = await life(home.process())
    assert.is(log.length, 4)
    const told = ({ steps }: SagaResult) =>
      steps.map(({ callId, status, attempts, result }) => ({ callId, status, attempts, result }))
    assert.equal(told(again), told(result))
    assert.is(again.status, result.status)
  })

  saga('a compensation of another run, or of a run that is not being rolled back, is refused', async () => {
    await using home = await open()
    const cs = home.process()
    const log: string[] = []
    travel(cs, log)
    const calls: string[] = []
    for (const id of ['one', 'other']) {
      await cs.run({ id }, (run) => run.saga([{ tool: 'a', args: { n: 1 } }]))
      calls.push(String((await home.connection.calls(id))[0]?.callId))
    }
    const body = { tool: 'a.compensate', args: { n: 1 }, phase: 'compensation', key: calls[1] ?? '' } as const
    for (const [runId, code] of [
      ['one', 'call-not-found'],
      ['other', 'not-compensating'],
    ] as const) {
      const reply = await home.connection.execute(runId, { kind: 'claim', body })
      assert.is(reply.ok ? 'claimed' : reply.problem.code, code)
    }
    assert.equal(log, ['a1', 'a1'])
  })

  saga.run()
}
