import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Countersign } from '../../../src/agent/runtime/runtime.ts'
import { within } from '../../support/within.ts'
import { codeOf, HOMES, killedAfter, LONG_MS, rejection } from '../homes.ts'

for (const { name, open } of HOMES) {
  const test = suite(`a hard cap on tokens that are handed over, ${name}`)
  const options = { id: 'r', budget: { tokens: 100 }, policy: { overshoot: 'refuse', ungrounded: 'off' } } as const

  test('what would pass the limit is refused and charged to nobody; what fits is accepted; without the policy it is overshoot (RUN-80)', async () => {
    await using home = await open()
    const cs = home.process()
    const output = await cs.run(options, async (run) => {
      await run.handoff({ a: 1 }, { agent: 'ann', tokens: 60 })
      const refused = await rejection(run.handoff({ a: 1, b: 2 }, { agent: 'ann', tokens: 41 }))
      const { envelope } = (await run.handoff({ a: 1, b: 2 }, { agent: 'ann', tokens: 40 })) as {
        envelope: { step: number }
      }
      return [codeOf(refused), envelope.step]
    })
    assert.equal(output, ['budget-exceeded', 2])
    const { tokens } = await home.connection.budget('r')
    assert.is(tokens, 100)
    await cs.run({ id: 'soft', budget: { tokens: 100 }, policy: { ungrounded: 'off' } }, async (run) => {
      await run.handoff({ a: 1 }, { agent: 'ann', tokens: 141 })
    })
    assert.is((await home.connection.budget('soft')).tokens, 141)
  })

  test('`hard` of a budget refuses what would pass it, whatever the policy is; without it that is overshoot (RUN-183)', async () => {
    await using home = await open()
    const cs = home.process()
    const handed = (options: object) =>
      cs.run({ name: 'capped', ...options }, async (run) => {
        const refused = await run
          .handoff({ summary: 'x' }, { agent: 'ann', tokens: 101 })
          .then(() => 'accepted', codeOf)
        return [run.id, refused] as const
      })
    for (const policy of [undefined, 'default', 'relay', { ungrounded: 'off' }, { overshoot: 'record' }] as const) {
      const [id, refused] = await handed({ budget: { tokens: 100, hard: true }, ...(policy && { policy }) })
      assert.equal([refused, (await home.connection.budget(id)).tokens], ['budget-exceeded', 0], JSON.stringify(policy))
    }
    const [id, accepted] = await handed({ budget: { tokens: 100, hard: false } })
    assert.equal([accepted, (await home.connection.budget(id)).tokens], ['accepted', 101])
    const misspelt = await rejection(handed({ budget: { tokens: 100, hrad: true } }))
    assert.is(codeOf(misspelt), 'invalid-option')
  })

  test('a resume and a replay are served the refusal, at its place (RUN-80)', async () => {
    await using home = await open()
    const body = (cs: Countersign) =>
      cs.run(options, async (run) => {
        const first = await run.handoff({ a: 1 }, { agent: 'ann', tokens: 101 }).catch(codeOf)
        await run.handoff({ a: 2 }, { agent: 'ann', tokens: 7 })
        await run.once('last', () => 1)
        return first
      })
    const { change, dead } = killedAfter(3, true)
    body(home.process(change)).catch(() => undefined)
    await within(dead, 'the death')
    home.clock.nowMs += LONG_MS
    assert.is(await body(home.process()), 'budget-exceeded')
    const events: JsonObject[] = []
    for await (const { type, data } of home.connection.events('r')) if (type === 'BudgetExceeded') events.push(data)
    assert.is(events.length, 1, 'refused once')
    const replayed = await home.process().replay('r', async (run) => {
      const first = await run.handoff({ a: 1 }, { agent: 'ann', tokens: 101 }).catch(codeOf)
      await run.handoff({ a: 2 }, { agent: 'ann', tokens: 7 })
      await run.once('last', () => 1)
      return first
    })
    assert.is(replayed.verdict, 'exact')
  })

  test('the output of a branch that would pass it fails the branch, and is charged to nobody (RUN-80)', async () => {
    await using home = await open()
    const cs = home.process(undefined, { tokens: (text) => text.length })
    const receipts = await cs.run(options, async (run) => {
      const branches = [
        { agent: 'small', run: async () => ({ text: 'x'.repeat(20) }) },
        { agent: 'large', run: async () => ({ text: 'x'.repeat(101) }) },
      ]
      return (await run.fork(branches, { join: 'union' })).receipts.map(({ branch, status, error }) => ({
        branch,
        status,
        code: error?.code ?? null,
      }))
    })
    assert.equal(receipts, [
      { branch: 'small', status: 'merged', code: null },
      { branch: 'large', status: 'refused', code: 'budget-exceeded' },
    ])
    assert.is((await home.connection.budget('r')).tokens, 20)
  })

  test.run()
}
