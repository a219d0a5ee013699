import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { AnswerTrailer } from '../../schemas/answer-trailer.ts'
import type { ExportTrailer } from '../../schemas/export-trailer.ts'
import { TRAILER_PAYLOAD_TYPE } from '../../schemas/export-trailer.ts'
import { Header } from '../../schemas/header.ts'
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import { FORMATS, type FormatName } from '../../src/export/formats.ts'
import { ledgerEvent } from '../../src/ledger/read/parse-record.ts'
import { storeOfEveryEvent } from '../support/every-event.ts'
import { collect } from '../support/records.ts'
import { ROOT } from '../support/source-root.ts'

const test = suite('export: the dictionary of fields')
const PAGE = readFileSync(join(ROOT, 'docs/export-fields.md'), 'utf8')
const DIGEST = `sha256:${'ab'.repeat(32)}`
const UUID = '0190f3a2-7c11-7abc-8def-0123456789ab'
/** Whatever stands below these is described elsewhere: bodies, trailers, filters. */
const WHOLE = ['data', 'filter', 'trailer.filter', 'unmapped.trailer']

const TRAILER: ExportTrailer = {
  ...{ v: 3, ledgerId: UUID, tenant: 'acme', run: 'r', filter: { run: 'r' }, events: 1, digest: DIGEST, asOf: UUID },
  ...{ from: 0, fromRoot: DIGEST, to: 1, losses: [{ scope: 'run', code: 'missing', stream: 's', revision: 1 }] },
  ...{ treeSize: 1, root: DIGEST, signature: { key: 'k', type: TRAILER_PAYLOAD_TYPE, sig: `${'A'.repeat(86)}==` } },
}
/** What a header may have besides, so that no optional field stays unseen. */
const FULL = {
  ...{ clock: '2026-01-01T00:00:00.000Z', principal: 'owner', via: ['between'], causation: UUID },
  ...{ traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`, request: { id: UUID, mac: 'x' } },
}

interface Described {
  readonly field: string
  readonly type: string
}

function described(format: string): readonly Described[] {
  const section = PAGE.split(`\n## ${format}\n`)[1]?.split('\n## ')[0] ?? ''
  return [...section.matchAll(/^\| `([^`]+)` \| (\w+) \|[^|]*\| ([^|]+) \| ([^|]+) \|$/gm)].map(
    ([, field = '', type = '']) => ({ field, type }),
  )
}

/** The text of an export of every event, each with every member that a header may have. */
async function exported(format: FormatName): Promise<string> {
  await using store = await storeOfEveryEvent()
  const records = await collect(store.readAll())
  const filter: JsonObject = { run: 'r' }
  const writer = FORMATS[format].open({ ledgerId: UUID, tenant: 'acme', filter, leafIndex: () => 1 })
  const events = records.flatMap((record) => {
    const header = JSON.stringify({ ...(JSON.parse(record.header) as JsonObject), ...FULL })
    // Some fields stand elsewhere where a body names no agent.
    const { agent: _, ...nameless } = JSON.parse(record.data) as JsonObject
    return [record.data, JSON.stringify(nameless)].map((data) => writer.event(ledgerEvent({ ...record, header, data })))
  })
  const part = { from: 1, root: DIGEST, edge: [DIGEST], beforeMs: 0 }
  const inPart = FORMATS[format].open({ ledgerId: UUID, tenant: 'acme', part, leafIndex: () => 1 })
  const heads = format === 'jsonl' ? [inPart.head] : []
  return [...heads, writer.head, ...events, writer.rest(), writer.trailer(TRAILER, undefined)].join('')
}

const objectsOf = (text: string): JsonObject[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as JsonObject)

function fieldsOf(value: Json, path: string, found: Map<string, string>): void {
  if (Array.isArray(value)) for (const each of value) fieldsOf(each, `${path}[]`, found)
  else if (isJsonObject(value) && !WHOLE.includes(path))
    for (const [name, member] of Object.entries(value))
      fieldsOf(member as Json, path === '' ? name : `${path}.${name}`, found)
  else if (value !== null) found.set(path, typeOf(value))
}

function typeOf(value: Json): string {
  return Number.isInteger(value) ? 'integer' : typeof value
}

const READERS: Readonly<Record<string, (text: string, found: Map<string, string>) => void>> = {
  jsonl: (text, found) => {
    for (const line of objectsOf(text)) fieldsOf(line, '', found)
  },
  cloudevents: (text, found) => {
    for (const line of objectsOf(text)) fieldsOf(line, '', found)
  },
  ocsf: (text, found) => {
    for (const line of objectsOf(text)) fieldsOf(line, '', found)
  },
  csv: (text, found) => {
    const [head = []] = parse(text, { bom: false }) as string[][]
    for (const name of head) found.set(name, name === 'revision' ? 'integer' : 'string')
  },
  otlp: (text, found) => {
    for (const line of objectsOf(text)) otlpFields(line, found)
  },
}

interface Attributed extends JsonObject {
  readonly attributes: readonly { readonly key: string; readonly value: JsonObject }[]
}
interface ResourceSpans {
  readonly resource: Attributed
  readonly scopeSpans: readonly { readonly spans: readonly Attributed[] }[]
}

const OTLP_TYPES: Readonly<Record<string, string>> = {
  stringValue: 'string',
  intValue: 'integer',
  doubleValue: 'number',
}

function otlpFields(line: JsonObject, found: Map<string, string>): void {
  const noted = (prefix: string, { attributes }: Attributed): void => {
    for (const { key, value } of attributes)
      found.set(`${prefix}.${key}`, OTLP_TYPES[Object.keys(value)[0] ?? ''] ?? '')
  }
  for (const { resource, scopeSpans } of line.resourceSpans as unknown as readonly ResourceSpans[]) {
    noted('resource', resource)
    for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
      noted('attributes', span)
      const { attributes: _, ...rest } = span
      fieldsOf(rest, '', found)
    }
  }
}

for (const [format, read] of Object.entries(READERS)) {
  test(`docs/export-fields.md lists every field of ${format}, with its type, and no other (A147)`, async () => {
    const found = new Map<string, string>()
    read(await exported(format as FormatName), found)
    const listed = new Map(described(format).map(({ field, type }) => [field, type]))
    assert.ok(found.size > 10)
    assert.equal([...listed.keys()].sort(), [...found.keys()].sort())
    for (const [field, type] of found) assert.is(listed.get(field), type, field)
  })
}

test('the page lists every member of the trailer of an answer, and no other (A147)', () => {
  const members = described('answers').map(({ field }) => field)
  assert.equal(members, Object.keys(AnswerTrailer.shape))
})

test('the members of a header on the page are those of its schema', () => {
  const members = described('jsonl').flatMap(({ field }) => /^header\.(\w+)/.exec(field)?.[1] ?? [])
  assert.equal([...new Set(members)].sort(), Object.keys(Header.shape).sort())
})

test.run()
