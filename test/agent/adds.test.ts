import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import type { AgentError } from '../../src/agent/errors.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import { HOMES, killedAfter, rejection } from './homes.ts'

const BEFORE = { constraints: ['no flights before 8', 'at most 900 EUR'] }
const AISLE = 'an aisle seat'

for (const { name, open } of HOMES) {
  const test = suite(`agents that add ${name}`)

  test('an agent of a step adds to a list by $add, which is no part of its payload (JUD-31, JUD-35)', async () => {
    await using home = await open()
    const body = async (run: Run) => {
      await run.handoff(BEFORE, { agent: 'desk' })
      const { payload } = await run.step('seats', () => ({ facts: { seat: '12C' }, $add: { constraints: [AISLE] } }))
      return [payload, (await run.context()).context]
    }
    const cs = home.process()
    const expected = [
      { facts: { seat: '12C' } },
      { constraints: [...BEFORE.constraints, AISLE], facts: { seat: '12C' } },
    ]
    assert.equal(await cs.run({ id: 'r', name: 'r' }, body), expected)
    assert.equal((await cs.replay('r', body)).output, expected)
  })

  test('a branch of a fork does, its receipt says so, and resume and replay read it from the record', async () => {
    await using home = await open()
    const meal = 'a vegan meal'
    let turns = 0
    const body = async (run: Run) => {
      await run.handoff(BEFORE, { agent: 'desk' })
      const seats = () => {
        turns += 1
        return { facts: { seat: '12C' }, $add: { constraints: [AISLE] } }
      }
      const branches = [
        { agent: 'seats', run: seats },
        { agent: 'meals', run: () => ({ $add: { constraints: [meal] } }) },
      ]
      const { receipts, output } = await run.fork(branches, { join: 'union' })
      return {
        receipts: receipts.map(({ branch, output, add }) => [branch, output, add ?? null]),
        output,
      } as JsonObject
    }
    const expected = {
      receipts: [
        ['seats', { facts: { seat: '12C' } }, { constraints: [AISLE] }],
        ['meals', {}, { constraints: [meal] }],
      ],
      output: { constraints: [...BEFORE.constraints, AISLE, meal], facts: { seat: '12C' } },
    }
    // Start, handoff, fork, and both reports: the join is the next life's.
    const killed = killedAfter(5, true)
    void home
      .process(killed.change)
      .run({ id: 'r', name: 'r' }, body)
      .catch(() => undefined)
    await killed.dead
    const before = turns
    assert.equal(await home.process().run({ id: 'r', name: 'r' }, body), expected)
    assert.equal((await home.process().replay('r', body)).output, expected)
    assert.is(turns, before)
  })

  test('$add of another shape is the mistake of the agent, and nothing is handed over', async () => {
    await using home = await open()
    const failed = (await rejection(
      home.process().run({ id: 'r' }, (run) => run.step('seats', () => ({ $add: [AISLE] }))),
    )) as AgentError
    assert.is(failed.code, 'invalid-output')
    assert.match(failed.message, /\$add of seats is an object/)
  })

  test.run()
}
