import { stringify } from 'csv-stringify/sync'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Header } from '../../schemas/header.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { csvRow } from '../../src/export/csv.ts'
import { TextBytes } from '../../src/export/export-file.ts'
import type { FormatWriter } from '../../src/export/format.ts'
import { FORMATS } from '../../src/export/formats.ts'
import { runOf } from '../../src/export/run-of.ts'
import type { LedgerEvent } from '../../src/ledger/ledger-event.ts'
import { checkedEvent, ledgerEvent } from '../../src/ledger/read/parse-record.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { readHeader } from '../../src/signing/header-reader.ts'
import type { ReadRecord } from '../../src/store/event-store.ts'
import { storeOfEveryEvent, TENANT } from '../support/every-event.ts'
import { plainActivity, plainCloudEvent } from '../support/plain-lines.ts'
import { collect } from '../support/records.ts'
import { rounds } from '../support/rounds.ts'

const test = suite<{ records: readonly ReadRecord[] }>('lines that are put together of written texts')
const SCOPE = {
  ledgerId: 'ledger-"1"',
  tenant: TENANT,
  leafIndex: (id: string) => (id < '8' ? id.length : undefined),
}

test.before(async (context) => {
  await using store = await storeOfEveryEvent()
  context.records = await collect(store.readAll())
})

const ocsf = FORMATS.ocsf.open(SCOPE)
const cloudEvents = FORMATS.cloudevents.open(SCOPE)
const csv = FORMATS.csv.open(SCOPE)

/** Behind another line, as in a file. */
function gathered(format: FormatWriter, event: LedgerEvent): string {
  const file = new TextBytes()
  file.add('é')
  format.write?.(event, file)
  return Buffer.from(file.take()).toString().slice(1)
}

/** Of cells that are read out of the parsed event. */
function plainRow(event: LedgerEvent): string {
  const { header, data, digest, texts } = event
  const said = ['agent', 'tool', 'callId'].map((name) => (typeof data[name] === 'string' ? data[name] : ''))
  const { id, stream, revision, type, time, clock, tenant, actor, principal, via, causation, traceparent } = header
  const cells = [
    ...[id, stream, revision, runOf(stream), type, time, clock, tenant, actor, principal, via?.join(' ')],
    ...[causation, traceparent, header.request?.id, ...said],
    ...[digest, header.prev, header.dataDigest, header.kid, header.mac, texts.salt, texts.data],
  ]
  return csvRow(cells.map((cell) => String(cell ?? '')))
}

function assertPlain(event: LedgerEvent): void {
  const activity = `${JSON.stringify(plainActivity(event, SCOPE))}\n`
  assert.is(ocsf.event(event), activity)
  assert.is(gathered(ocsf, event), activity)
  assert.is(cloudEvents.event(event), `${plainCloudEvent(event, SCOPE)}\n`)
  // As bytes: what is no character of UTF-8 is the same sign in both.
  const row = Buffer.from(plainRow(event)).toString()
  assert.is(Buffer.from(csv.event(event)).toString(), row)
  assert.is(gathered(csv, event), row)
}

/** As a reader reads it whose check found its seal to fit. */
function sound(record: ReadRecord): LedgerEvent {
  const read = readHeader(record.header)
  assert.ok(read.ok)
  return checkedEvent(record, { header: read.header, seal: 'valid' })
}

test('a line of OCSF and of CloudEvents is, byte for byte, the JSON of its object, and a row of CSV that of its cells: of every event type, sealed or not (FMT-4)', ({
  records,
}) => {
  assert.ok(records.length > 60)
  for (const record of records) {
    assertPlain(ledgerEvent(record))
    assertPlain(sound(record))
  }
})

/** Bodies and headers that no build of ours writes, and somebody else might put into the store. */
const ODD = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }).map((value) => value as Json),
  fc.constantFrom<Json>('', '"', '\\', '\n', '\ud800', '\u2028', 'ü', -0, 1e300, 'x'.repeat(300)),
  fc.string({ unit: 'binary', maxLength: 12 }),
)
const MEMBERS = fc.constantFrom(
  ...['agent', 'tool', 'callId', 'usage', 'error', 'code', 'detail', 'reason', 'findings', 'v', 'verdict', 'outcome'],
  ...['usage.model', 'usage.provider', 'usage.inputTokens', 'usage.tokens', 'usage.cost', 'usage.currency'],
  ...['error.code', 'error.message', 'toJSON'],
)
const TEXT = fc.oneof(fc.string({ unit: 'binary', maxLength: 12 }), fc.constantFrom('', 'a"b', 'é', 'y'.repeat(400)))
const HEADER_TEXTS = fc.constantFrom<keyof Header>(
  ...(['id', 'type', 'time', 'tenant', 'actor', 'principal', 'causation', 'traceparent', 'prev', 'kid'] as const),
)

function changed(data: JsonObject, path: string, value: Json): JsonObject {
  const [first = '', second] = path.split('.')
  const inner = data[first]
  const object = typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? inner : {}
  return { ...data, [first]: second === undefined ? value : { ...object, [second]: value } }
}

test('of altered events as well: whatever their headers and bodies say, the line is that of its object (FMT-4)', ({
  records,
}) => {
  const bodies = fc.array(fc.tuple(MEMBERS, ODD), { maxLength: 3 })
  const headers = fc.array(fc.tuple(HEADER_TEXTS, TEXT), { maxLength: 3 })
  fc.assert(
    fc.property(fc.constantFrom(...records), bodies, headers, (record, members, names) => {
      const data = members.reduce((body, [path, value]) => changed(body, path, value), JSON.parse(record.data))
      const header = JSON.stringify({ ...JSON.parse(record.header), ...Object.fromEntries(names) })
      assertPlain(ledgerEvent({ ...record, header, data: JSON.stringify(data) }))
      assertPlain(ledgerEvent({ ...record, header: header.slice(1) }))
      assertPlain(sound({ ...record, data: canonical(data) ?? record.data }))
    }),
    { numRuns: rounds(30, 120) },
  )
})

/** Undefined for what no event was sealed with. */
function canonical(data: JsonObject): string | undefined {
  try {
    return canonicalJson(data)
  } catch {
    return undefined
  }
}

test('a text within a string of JSON, or a cell of CSV, is, byte for byte, what the engine makes of it, however long it is', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.constantFrom('"'.repeat(30_000), `${'"é\\'.repeat(7_000)}\n`, '€"'.repeat(20_000), '\u2028\u007f'),
  )
  fc.assert(
    fc.property(fc.array(text, { maxLength: 5 }), (texts) => {
      const file = new TextBytes()
      for (const each of texts) file.addEscaped(each)
      assert.is(Buffer.from(file.take()).toString(), texts.map((each) => JSON.stringify(each).slice(1, -1)).join(''))
      for (const each of texts) file.addDoubled(each)
      const doubled = texts.map((each) => each.replaceAll('"', '""')).join('')
      assert.is(Buffer.from(file.take()).toString(), Buffer.from(doubled).toString())
    }),
    { numRuns: rounds(75, 300) },
  )
})

test('a row of CSV is quoted as the library that is known for it quotes (RFC 4180), and more than it: what a reader may take for a border', () => {
  const border = ['\n', '\r', '\0', '\t', ';', '\ufeff']
  const cell = fc.string({
    unit: fc.oneof(fc.constantFrom('a', '"', ',', ' ', 'ü', '\ud83d\ude00', ...border), fc.string({ maxLength: 1 })),
    maxLength: 8,
  })
  const safe = cell.filter((text) => !/^['=+\-@\t\r\n\0\uff1d\uff0b\uff0d\uff20]/u.test(text))
  fc.assert(
    fc.property(fc.array(safe, { minLength: 1, maxLength: 6 }), (cells) => {
      assert.is(csvRow(cells), stringify([cells], { record_delimiter: 'windows', quoted_match: border }))
    }),
    { numRuns: rounds(30, 120) },
  )
})

test.run()
