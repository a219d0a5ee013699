/** @module What a run began is over when the run is: no work goes on behind an error, and no stream of a provider stays open. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { trackOpenAI } from '../../src/agent/models/track-openai.ts'
import type { Connection } from '../../src/agent/runtime/connection.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { UnreachableError } from '../../src/client/errors.ts'
import { HOMES, rejection } from './homes.ts'

for (const { name, open } of HOMES) {
  const test = suite(`nothing is left of a run ${name}`)

  /** The ledger is out of reach for one compensation. */
  const without =
    (tool: string) =>
    (connection: Connection): Connection => ({
      ...connection,
      execute: async (runId, command, options) => {
        if (command.kind === 'claim' && command.body.tool === tool) throw new UnreachableError('cut')
        return connection.execute(runId, command, options)
      },
    })

  test('where the ledger is lost for one compensation, those beside it have ended when the run has (F104)', async () => {
    await using home = await open()
    const cs = home.process(without('one.compensate'))
    const log: string[] = []
    for (const tool of ['one', 'two'])
      cs.tool({
        name: tool,
        execute: async () => tool,
        compensate: async () => {
          log.push(`${tool} begins`)
          await new Promise((resolve) => setTimeout(resolve, 50))
          log.push(`${tool} is undone`)
        },
      })
    const error = await rejection(
      cs.run({ id: 'r' }, async (run) => {
        await run.saga([[{ tool: 'one' }, { tool: 'two' }]])
        throw new Error('a bad end')
      }),
    )
    assert.match(String(error), /a bad end/)
    assert.is(outcomeOf(error)?.status, 'OPEN')
    assert.equal(log, ['two begins', 'two is undone'])
  })

  test('a stream whose chunk cannot be recorded is left: the provider may close its connection (F105)', async () => {
    await using home = await open()
    let isOpen = false
    const create = async () =>
      (async function* () {
        isOpen = true
        try {
          for (let n = 0n; ; n += 1n) yield { choices: [], n: n < 2n ? 0 : n }
        } finally {
          isOpen = false
        }
      })()
    const client = trackOpenAI({ chat: { completions: { create } } }, { maxOutputTokens: 10 })
    await rejection(
      home.process().run({ id: 'r' }, async () => {
        const stream = client.chat.completions.create as unknown as (
          request: object,
        ) => Promise<AsyncIterable<JsonObject>>
        for await (const _ of await stream({ model: 'm', messages: [], stream: true }));
      }),
    )
    assert.is(isOpen, false)
  })

  test.run()
}
