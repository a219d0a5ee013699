import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import { FORMATS } from '../../src/export/formats.ts'
import { ledgerEvent } from '../../src/ledger/read/parse-record.ts'
import { storeOfEveryEvent } from '../support/every-event.ts'
import { OCSF, ocsfFaults } from '../support/ocsf-rules.ts'
import { collect } from '../support/records.ts'

const test = suite<{ lines: readonly JsonObject[] }>('export: OCSF, by the rules of its released schema')

test.before(async (context) => {
  await using store = await storeOfEveryEvent()
  const writer = FORMATS.ocsf.open({ ledgerId: 'ledger-1', tenant: 'acme', leafIndex: () => undefined })
  const events = (await collect(store.readAll())).map(ledgerEvent)
  const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`
  const traced = events.map(({ position, header, data, digest, headerText, texts }) => {
    return { position, header: { ...header, traceparent, principal: 'owner' }, data, digest, headerText, texts }
  })
  const digest = `sha256:${'0'.repeat(64)}`
  const trailer = { v: 1, ledgerId: 'ledger-1', tenant: 'acme', run: null, events: 1, digest, asOf: null } as const
  const texts = [...[...events, ...traced].map((event) => writer.event(event)), writer.trailer(trailer, undefined)]
  context.lines = texts.map((text) => JSON.parse(text) as JsonObject)
})

test('an activity of every event type, alone and for somebody else, fits OCSF 1.9.0: attributes, types, enums, constraints, profiles (FMT-4)', ({
  lines,
}) => {
  assert.is(OCSF.version, '1.9.0')
  assert.ok(lines.length > 80)
  for (const line of lines) assert.equal(ocsfFaults(line), [], JSON.stringify(line.api))
})

test('why something failed, by which rule, and what it cost stand in attributes, and not in raw data alone (FMT-4)', ({
  lines,
}) => {
  const of = (type: string): JsonObject => {
    const found = lines.find(({ api }) => (api as JsonObject).operation === type)
    assert.ok(found, type)
    return found
  }
  const rejected = of('EnvelopeRejected')
  assert.match(String(rejected.status_detail), / at \//)
  assert.ok(typeof rejected.status_code === 'string' && rejected.status_id === 2)
  const { verdict, findings } = rejected.unmapped as JsonObject
  assert.ok(verdict === 'rejected' && Array.isArray(findings) && findings.length > 0, JSON.stringify(rejected.unmapped))
  for (const type of ['ToolCallFailed', 'RunFailed', 'CompensationFailed', 'RequestRefused']) {
    const { api, status_detail: detail } = of(type)
    const { response } = api as Record<string, JsonObject>
    assert.ok(
      response !== undefined && typeof response.error_message === 'string' && detail === response.error_message,
      type,
    )
  }
  const charged = lines.flatMap(({ unmapped }) => (unmapped === undefined ? [] : [unmapped as JsonObject]))
  assert.match(String(charged.find(({ cost }) => cost !== undefined)?.currency), /^[A-Z]{3}$/)
  assert.ok(lines.every(({ message }) => typeof message === 'string' && message !== ''))
})

test('the rules see an activity that does not fit, wherever it does not (FMT-4)', ({ lines }) => {
  const whole = lines.findLast(
    ({ attestation_list: list, ai_agent: agent }) =>
      agent !== undefined && (list as JsonObject[])[0]?.prev_event !== undefined,
  )
  assert.ok(whole)
  const changed = (path: string, value?: Json): JsonObject => {
    const copy = structuredClone(whole)
    const names = path.split('.')
    const last = names.pop() ?? ''
    let at: Json = copy
    for (const name of names) at = (Array.isArray(at) ? at[Number(name)] : (at as JsonObject)[name]) as Json
    assert.ok(isJsonObject(at), path)
    if (value === undefined) delete (at as Record<string, Json>)[last]
    else (at as Record<string, Json>)[last] = value
    return copy
  }
  const faulty: readonly JsonObject[] = [
    changed('src_endpoint'),
    changed('metadata.product'),
    changed('attestation_list.0.prev_event.uid'),
    changed('attestation_list.0.signatures.0.algorithm'),
    changed('attestation_list.0.fingerprint.value', 'xyz'),
    changed('attestation_list.0.fingerprint.algorithm_id', 21),
    changed('attestation_list.0.invented', 'x'),
    changed('attestation_list', {}),
    changed('metadata.profiles', ['ai_operation']),
    changed('metadata.version', '1.9.0-dev'),
    changed('activity_id', 5),
    changed('type_uid', 600302.5),
    changed('time', '2026'),
    changed('actor', {}),
    changed('actor.app_uid', 'x'),
    changed('message_context.service'),
    changed('cost', '1.00'),
  ]
  for (const [at, activity] of faulty.entries()) assert.ok(ocsfFaults(activity).length > 0, `case ${at}`)
  assert.equal(ocsfFaults(whole), [])
})

test.run()
