import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { exportText } from '../../src/export/issue-export.ts'
import { MODEL_USAGE } from '../support/model-usage.ts'
import { ocsfFaults } from '../support/ocsf-rules.ts'
import { drive } from '../support/run-driver.ts'
import { alice, type TestLedger, testLedger } from '../support/test-ledger.ts'

const test = suite('export: OCSF of thousands of events')

const EVENTS = 3_000

/** Everything that a run does by itself: handoffs good and bad, calls that end in each way, models, budgets, a rollback. */
async function lived(home: TestLedger, id: string): Promise<void> {
  const run = drive(home, id)
  await run.start({ budget: { tokens: 500, cost: { limit: '2.00', currency: 'USD' } } })
  await run.hand('researcher', { entities: ['Apple'], facts: { price: 12 } })
  await run.hand('writer', { facts: { price: 13 } })
  await run.called('charge')
  const model = await run.claimed('chat', { phase: 'model', agent: 'writer', reserve: { tokens: 100 } })
  await run.settle(model, { fence: 1, result: { text: 'hi' }, usage: MODEL_USAGE })
  const failing = await run.claimed('ship')
  await run.settle(failing, { fence: 1, error: { message: 'broke', code: 'EBROKE' } })
  await run.do({ kind: 'reserve', body: { agent: 'writer', tokens: 10_000 } })
  await run.do({ kind: 'usage', body: { agent: 'writer', usage: { tokens: 5, model: 'm-2' } } })
  await run.do({ kind: 'settle', callId: failing, body: { fence: 9, result: 1 } })
  const compensated = await run.called('book')
  await run.do({ kind: 'compensate', body: { reason: 'the customer left' } })
  await run.undo(compensated)
}

test(`of ${EVENTS} events of runs as they are lived, each activity and the trailer fit the released schema (FMT-4)`, async () => {
  await using home = await testLedger({ merkleLogs: true, realClock: true })
  let text = ''
  for (let n = 0, events = 0; events < EVENTS; n += 25) {
    for (let at = n; at < n + 25; at += 1) await lived(home, `run-${at}`)
    const { tree } = await home.ledger.exports.pin(alice)
    events = tree?.size ?? 0
  }
  for await (const part of exportText(home.ledger, alice, { format: 'ocsf' })) text += part
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as JsonObject)
  const types = new Set<string>()
  for (const line of lines) {
    assert.equal(ocsfFaults(line), [], JSON.stringify(line.api))
    types.add(String((line.api as JsonObject).operation))
  }
  assert.ok(lines.length > EVENTS && types.size >= 12 && types.has('ExportTrailer'), [...types].join())
})

test.run()
