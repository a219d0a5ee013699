import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { EVENTS, type EventType } from '../../schemas/events.ts'
import { FORMATS } from '../../src/export/formats.ts'
import { ledgerEvent } from '../../src/ledger/read/parse-record.ts'
import { checkRecord, firstExpectation, nextExpectation } from '../../src/signing/check.ts'
import { checkKeys, testRing } from '../signing/fixtures.ts'
import { EXAMPLES, storeOfEveryEvent } from '../support/every-event.ts'
import { batchOfEveryEvent, textsOfEveryEvent } from '../support/every-event-texts.ts'
import { collect } from '../support/records.ts'
import { ROOT } from '../support/source-root.ts'

const test = suite('export: every event type')
const RECORDED = join(ROOT, 'test/vectors/events')

test('there is an example of every event type, and each fits the schema of its type', () => {
  assert.equal(Object.keys(EXAMPLES).sort(), Object.keys(EVENTS).sort())
  for (const [type, bodies] of Object.entries<readonly unknown[]>(EXAMPLES)) {
    for (const body of bodies) assert.equal(EVENTS[type as EventType].schema.parse(body), body, type)
  }
})

test('what is added to lists, and the policy that a tenant declared, stand among the examples', () => {
  const types = Object.entries<readonly object[]>(EXAMPLES).flatMap(([type, bodies]) =>
    bodies.some((body) => 'add' in body || 'tenantPolicy' in body) ? [type] : [],
  )
  assert.equal(types.sort(), ['BranchOffered', 'BranchReceived', 'EnvelopeAccepted', 'EnvelopeRejected', 'RunStarted'])
})

test('a store with every event type verifies, seal by seal and link by link', async () => {
  await using store = await storeOfEveryEvent()
  const keys = checkKeys(testRing('every event'))
  const expected = new Map<string, ReturnType<typeof firstExpectation>>()
  for (const record of await collect(store.readAll())) {
    const checked = checkRecord(record, expected.get(record.stream) ?? firstExpectation(record.stream), keys)
    assert.ok(checked.ok, `${record.stream} @ ${record.revision}`)
    if (checked.ok) expected.set(record.stream, nextExpectation(checked))
  }
})

test('an export of each format, the answer to each audit query, each fold and each line of words is as recorded', async () => {
  await using store = await storeOfEveryEvent()
  const texts = await textsOfEveryEvent(store)
  assert.equal(Object.keys(texts).sort(), readdirSync(RECORDED).sort())
  for (const [file, text] of Object.entries(texts)) {
    assert.fixture(text, readFileSync(join(RECORDED, file), 'utf8'), file)
  }
})

test('OCSF calls a type that this build does not know neither a success nor informational (FMT-4)', async () => {
  await using store = await storeOfEveryEvent()
  const [record] = await collect(store.readAll())
  if (record === undefined) throw new Error('the store holds events')
  const event = ledgerEvent({ ...record, header: record.header.replace('LedgerCreated', 'LedgerMoved') })
  const writer = FORMATS.ocsf.open({ ledgerId: 'ledger-1', tenant: 'acme', leafIndex: () => undefined })
  const { status_id, severity_id, activity_id, api } = JSON.parse(writer.event(event))
  assert.equal([api.operation, status_id, severity_id, activity_id], ['LedgerMoved', 0, 0, 0])
})

test('the batch of CloudEvents is their lines in one list', async () => {
  await using store = await storeOfEveryEvent()
  const lines = readFileSync(join(RECORDED, 'every-event.cloudevents.jsonl'), 'utf8')
  assert.is(await batchOfEveryEvent(store), `[\n${lines.replaceAll('\n', ',\n')}`)
})

test.run()
