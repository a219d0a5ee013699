import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import { defaultPrompt } from '../../../src/agent/pipeline/default-prompt.ts'
import type { StepContext } from '../../../src/agent/pipeline/step-types.ts'
import type { Connection } from '../../../src/agent/runtime/connection.ts'
import type { Countersign } from '../../../src/agent/runtime/runtime.ts'
import { HOMES } from '../homes.ts'

const STOPS = 4

/** Hands over where it is; refused, it does what its prompt says. */
const driver =
  (stop: number) =>
  async (_: JsonObject, context: StepContext): Promise<JsonObject> => {
    const payload = { tour: { at_stop: `S${stop}` } }
    if (context.findings.length === 0) return payload
    const prompt = defaultPrompt({}, context)
    assert.match(prompt, /"\$moves": \[\{"path"/)
    const [, entry = ''] = /It could be declared: (\{.*?\})/.exec(prompt) ?? []
    return { ...payload, $moves: [{ ...JSON.parse(entry), reason: 'where the van is' }] }
  }

const tour = (cs: Countersign): Promise<number[]> =>
  cs.run({ id: 'r', name: 'tour', policy: { suspect: 'refuse' } }, async (run) => {
    const attempts: number[] = []
    for (let stop = 1; stop <= STOPS; stop++) {
      attempts.push((await run.step('driver', driver(stop), { repairs: 1 })).attempts)
    }
    return attempts
  })

/** A process whose ledger goes away after so many handoffs. */
const leftAfter =
  (handoffs: number) =>
  (connection: Connection): Connection => {
    let made = 0
    const execute: Connection['execute'] = (run, command) => {
      if (command.kind === 'envelope') made += 1
      if (made > handoffs) throw new Error('the process is gone')
      return connection.execute(run, command)
    }
    return { ...connection, execute }
  }

for (const { name, open } of HOMES) {
  const test = suite(`what an agent declares to move ${name}`)

  test('an agent declares its own books as its prompt says, once, and a later life goes on with that (JUD-46)', async () => {
    await using home = await open()
    try {
      await tour(home.process(leftAfter(3)))
      assert.unreachable('the first life has to end')
    } catch (error) {
      assert.match(String(error), /gone/)
    }
    assert.equal(await tour(home.process()), [1, 2, 1, 1])
    const events: JsonObject[] = []
    for await (const { data } of home.connection.events('r', 'EnvelopeAccepted')) events.push(data as JsonObject)
    assert.equal(
      events.map(({ payload, moves = null }) => [payload, moves]),
      [
        [{ tour: { at_stop: 'S1' } }, null],
        [{ tour: { at_stop: 'S2' } }, [{ path: '/tour/at_stop', as: 'cursor', reason: 'where the van is' }]],
        [{ tour: { at_stop: 'S3' } }, null],
        [{ tour: { at_stop: 'S4' } }, null],
      ],
    )
  })

  test("the manifest of a step's agent declares its books, for all that it hands over (JUD-71)", async () => {
    await using home = await open()
    const manifest = { moves: [{ path: '/tour/at_stop', as: 'cursor', reason: 'where the van is' }] }
    const attempts = await home.process().run({ id: 'm', policy: { suspect: 'refuse' } }, async (run) => {
      const steps: number[] = []
      for (let stop = 1; stop <= STOPS; stop++) {
        steps.push((await run.step('driver', async () => ({ tour: { at_stop: `S${stop}` } }), { manifest })).attempts)
      }
      return steps
    })
    assert.equal(attempts, [1, 1, 1, 1])
  })

  test.run()
}
