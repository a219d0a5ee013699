import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import { defaultPrompt } from '../../../src/agent/pipeline/default-prompt.ts'
import type { StepContext } from '../../../src/agent/pipeline/step-types.ts'
import { HOMES } from '../homes.ts'

for (const { name, open } of HOMES) {
  const test = suite(`what the next agent is told is suspect ${name}`)

  test('the prompt of the next agent names what is suspect with both values, until it is explained, and nothing of what it may not read (JUD-67)', async () => {
    await using home = await open()
    const prompts: string[] = []
    const told: StepContext['suspects'][] = []
    const says = (payload: JsonObject) => async (slice: JsonObject, context: StepContext) => {
      prompts.push(defaultPrompt(slice, context))
      told.push(context.suspects)
      return payload
    }
    await home.process().run({ id: 'r' }, async (run) => {
      await run.step('desk', says({ order: { carrier: 'K7Q' }, notes: { desk: 4 } }))
      await run.step('driver', says({ order: { carrier: 'M2P' } }))
      await run.step('clerk', says({ checked: true }), { manifest: { reads: ['notes'] } })
      const supersedes = [{ path: '/order/carrier', reason: 'the carrier wrote so' }]
      await run.step('lead', says({ order: { carrier: 'K7Q' } }), { supersedes })
      await run.step('mail', says({ sent: true }))
    })
    const line = '- /order/carrier, by driver (before: "K7Q"; now: "M2P")'
    assert.equal(
      prompts.map((prompt) => prompt.includes(line)),
      [false, false, false, true, false],
    )
    assert.equal(told[3], [{ id: '2.1', path: '/order/carrier', agent: 'driver', before: 'K7Q', after: 'M2P' }])
    assert.equal(
      [0, 1, 2, 4].map((i) => told[i]),
      [[], [], [], []],
    )
  })

  test.run()
}
