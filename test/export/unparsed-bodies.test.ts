import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isJsonObject, type Json, type JsonObject, parseJsonOrUndefined } from '../../schemas/json.ts'
import { FORMATS, type FormatName } from '../../src/export/formats.ts'
import type { LedgerEvent } from '../../src/ledger/ledger-event.ts'
import { checkedEvent, ledgerEvent } from '../../src/ledger/read/parse-record.ts'
import { readHeader } from '../../src/signing/header-reader.ts'
import { storeOfEveryEvent, TENANT } from '../support/every-event.ts'
import { collect } from '../support/records.ts'
import { rounds } from '../support/rounds.ts'

const test = suite('unparsed bodies')
const STORED = [
  ...['{}', '{"a":1}', '{"b":1,"a":2}', '{ "a":1}', '{"a":1,"a":2}', '{"a":1.0}', '{"\\u0061":1}', '{"a":"\\ud800"}'],
  ...[
    '{"a":1',
    '{"a":1}}',
    '{"a":1}\n{"a":2}',
    '[{"a":1}]',
    '"{}"',
    'null',
    '1',
    '',
    ' ',
    '{"a":tru}',
    '\u0000',
    '{"a":"\n"}',
  ],
  ...[
    `{"a":${'['.repeat(200)}${']'.repeat(200)}}`,
    `{"a":"${'x'.repeat(70_000)}"}`,
    '{"__proto__":1}',
    '{"a":"\ud800"}',
  ],
]

function asObject(text: string): JsonObject | undefined {
  const value = parseJsonOrUndefined(text)
  return value !== undefined && isJsonObject(value as Json) ? (value as JsonObject) : undefined
}

test('a body that lines carry unparsed stands in them as it is stored where it is an object, else as a string of it (F208)', async () => {
  await using store = await storeOfEveryEvent()
  const [record] = await collect(store.readAll())
  if (record === undefined) throw new Error('the store has events')
  const stored = fc.oneof(fc.constantFrom(...STORED), fc.json(), fc.string({ unit: 'binary' }))
  fc.assert(
    fc.property(stored, (data) => {
      const found = asObject(data)
      const shown = found === undefined ? JSON.stringify(data) : data
      const salt = Buffer.from(record.salt).toString('base64url')
      const untouched = ledgerEvent({ ...record, data })
      assert.is(
        FORMATS.jsonl.open(SCOPE).event(untouched),
        `{"header":${record.header},"salt":"${salt}","data":${shown}}\n`,
      )
      assert.equal(untouched.data, found ?? {})
      const looked = ledgerEvent({ ...record, data })
      assert.equal(looked.data, found ?? {})
      assert.is(looked.texts.data, shown)
    }),
    { numRuns: rounds(120, 500) },
  )
})

const SCOPE = { ledgerId: 'ledger-1', tenant: TENANT, leafIndex: () => 1 }

test('what the check of a record read of it makes the same line, in every format, as reading it anew (F208)', async () => {
  await using store = await storeOfEveryEvent()
  for (const record of await collect(store.readAll())) {
    const read = readHeader(record.header)
    assert.ok(read.ok)
    for (const format of Object.keys(FORMATS) as FormatName[]) {
      const line = FORMATS[format].open(SCOPE).event(checkedEvent(record, { header: read.header, seal: 'valid' }))
      assert.is(line, FORMATS[format].open(SCOPE).event(ledgerEvent(record)), format)
    }
  }
})

test('the compiler refuses a spread of an event, which would lose its body and texts without a word', async () => {
  await using store = await storeOfEveryEvent()
  const [record] = await collect(store.readAll())
  if (record === undefined) throw new Error('the store has events')
  const event = ledgerEvent(record)
  // @ts-expect-error `data` and `texts` are accessors: a spread lacks them, and its type must say so.
  const spread: LedgerEvent = { ...event }
  assert.is(spread.data, undefined)
  assert.is(JSON.stringify(event.data), event.texts.data)
})

test.run()
