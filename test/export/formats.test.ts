import { CloudEvent, HTTP } from 'cloudevents'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { runStream } from '../../schemas/names.ts'
import { cloudEventType } from '../../src/export/cloudevents.ts'
import type { ExportScope } from '../../src/export/format.ts'
import { FORMATS, type FormatName } from '../../src/export/formats.ts'
import { exportText } from '../../src/export/issue-export.ts'
import { exportLine } from '../../src/export/jsonl.ts'
import { traceIdOf } from '../../src/export/otlp-span.ts'
import type { LedgerEvent } from '../../src/ledger/ledger-event.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { recordDigest } from '../../src/signing/digests.ts'
import { sealEvents } from '../../src/signing/seal.ts'
import { anyCharacter } from '../support/any-character.ts'
import { MODEL_USAGE } from '../support/model-usage.ts'
import { drive } from '../support/run-driver.ts'
import { alice, testLedger } from '../support/test-ledger.ts'

const test = suite<{ events: readonly LedgerEvent[]; texts: Readonly<Record<FormatName, string>> }>('export: formats')

/** A run with a little of everything, and its export in every format. */
test.before(async (context) => {
  await using home = await testLedger()
  const run = drive(home, 'r1')
  await run.start({ budget: { tokens: 1_000, cost: { limit: '5.00', currency: 'USD' } } })
  await run.hand('researcher', { entities: ['Apple'], note: '=1+1' })
  await run.hand('writer', { summary: 'dropped' })
  await run.called('charge')
  const model = await run.claimed('chat', { phase: 'model', agent: 'writer' })
  await run.settle(model, { fence: 1, result: { text: 'hi' }, usage: MODEL_USAGE })
  const failing = await run.claimed('ship')
  await run.settle(failing, { fence: 1, error: { message: 'broke', code: 'EBROKE' } })
  await run.claimed('left-open')
  await run.do({ kind: 'usage', body: { agent: 'writer', usage: { tokens: 5, model: 'm-2' } } })
  await run.do({ kind: 'fail', body: { error: { message: 'gave up' } } })
  const { ledger } = home
  const texts = Object.fromEntries(
    await Promise.all(
      (Object.keys(FORMATS) as FormatName[]).map(async (format) => {
        let text = ''
        for await (const part of exportText(ledger, alice, { format, query: { run: 'r1' } })) text += part
        return [format, text]
      }),
    ),
  )
  context.texts = texts as Record<FormatName, string>
  context.events = await run.events()
})

function linesOf(text: string): JsonObject[] {
  assert.ok(text.endsWith('\n'))
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as JsonObject)
}

const sealedOf = ({ texts }: LedgerEvent): Json => JSON.parse(exportLine(texts)) as Json

test('every line is a CloudEvent that the reference library takes strictly, and holds the sealed record (FMT-2)', ({
  events,
  texts,
}) => {
  const lines = linesOf(texts.cloudevents)
  assert.is(lines.length, events.length + 1)
  for (const [index, line] of lines.entries()) {
    const event = new CloudEvent(line, true)
    const message = HTTP.toEvent({
      headers: { 'content-type': 'application/cloudevents+json' },
      body: JSON.stringify(line),
    })
    assert.is((message as CloudEvent<unknown>).id, event.id)
    for (const name of Object.keys(line)) assert.match(name, /^[a-z0-9]{1,20}$/)
    const source = events[index]
    if (source !== undefined) assert.equal(event.data, sealedOf(source))
  }
  assert.is(lines.at(-1)?.type, 'dev.countersign.export.trailer.v1')
  assert.is(cloudEventType('ToolCallClaimed', 1), 'dev.countersign.tool.call.claimed.v1')
})

test('no context attribute of a CloudEvent holds who acted', ({ texts }) => {
  for (const { data: _, ...attributes } of linesOf(texts.cloudevents))
    assert.not.match(JSON.stringify(attributes), /alice/)
})

test('the batch is one JSON array of the very same CloudEvents', ({ texts }) => {
  const batch = JSON.parse(texts['cloudevents-batch']) as JsonObject[]
  const lines = linesOf(texts.cloudevents)
  assert.equal(batch.slice(0, -1), lines.slice(0, -1))
  const [own, other] = [batch.at(-1)?.data, lines.at(-1)?.data] as JsonObject[]
  assert.is(own?.events, other?.events)
})

test('CSV has one record an event with the signed texts, and a trailer record', ({ events, texts }) => {
  const rows = parse(texts.csv, { columns: true, record_delimiter: '\r\n' }) as Record<string, string>[]
  assert.is(rows.length, events.length + 1)
  for (const [index, event] of events.entries()) {
    const { data, salt = '', id, digest } = rows[index] ?? {}
    assert.equal(
      [data, salt.replace(/^'/, ''), id, digest],
      [event.texts.data, event.texts.salt, event.header.id, event.digest],
    )
  }
  const { type, data } = rows.at(-1) ?? {}
  assert.equal([type, JSON.parse(data ?? '').events], ['ExportTrailer', events.length])
})

test('no CSV cell begins like a formula, whatever a name holds; the cells are read back exactly (A44, FMT-3)', () => {
  const hostile = fc.tuple(
    fc.constantFrom('=', '+', '-', '@', '\t', '\r', '\n', '\0', "'", '\uff1d', '"', ',', ';', ''),
    fc.string({ unit: anyCharacter, maxLength: 60 }),
  )
  fc.assert(
    fc.property(hostile, hostile, ([a, b], [c, d]) => {
      const event = eventWith({ actor: `${a}${b}x`, agent: `${c}${d}` })
      const writer = FORMATS.csv.open(SCOPE)
      const text = writer.head + writer.event(event)
      const [cells] = parse(text, { columns: true, record_delimiter: '\r\n' }) as Record<string, string>[]
      for (const cell of Object.values(cells ?? {})) assert.not.ok(FORMULA_STARTS.includes(cell.charAt(0) || 'x'), cell)
      const back = (name: string): string => (cells?.[name] ?? '').replace(/^'/, '')
      assert.equal(
        [back('actor'), back('agent'), back('data')],
        [event.header.actor, event.data.agent, event.texts.data],
      )
    }),
  )
})

test('every OCSF line has what API Activity and its profiles require (FMT-4)', ({ events, texts }) => {
  const lines = linesOf(texts.ocsf)
  assert.is(lines.length, events.length + 1)
  for (const [index, line] of lines.entries()) {
    assert.equal([line.category_uid, line.class_uid], [6, 6003])
    assert.is(line.type_uid, 600_300 + Number(line.activity_id))
    assert.ok([1, 2, 3, 4, 99].includes(Number(line.activity_id)))
    const { actor, api, src_endpoint: source, metadata, time } = line as Record<string, JsonObject | number>
    assert.ok(Object.keys(actor as JsonObject).length > 0)
    assert.ok((api as JsonObject).operation)
    assert.ok((source as JsonObject).name)
    assert.ok(Number.isSafeInteger(time))
    const { product, version, profiles } = metadata as JsonObject
    assert.ok((product as JsonObject).name && version)
    assert.ok((profiles as string[]).includes('ai_operation') && (profiles as string[]).includes('record_integrity'))
    const event = events[index]
    if (event === undefined) continue
    const [attestation = {}] = line.attestation_list as JsonObject[]
    const fingerprint = attestation.fingerprint as JsonObject
    assert.is(attestation.chain_uid, event.header.stream)
    assert.is(`${line.raw_data}\n`, exportLine(event.texts))
    assert.is(`sha256:${fingerprint.value}`, recordDigest(event.texts.header))
    const { stream, revision, prev } = event.header
    assert.is(attestation.uid, `${stream}@${revision}`)
    const { uid, original_event_uid: id } = metadata as JsonObject
    assert.equal([uid, id], [attestation.uid, event.header.id])
    const before = attestation.prev_event as { uid: string; fingerprint: { value: string } } | undefined
    assert.is(before === undefined, prev === undefined)
    if (before === undefined) continue
    assert.is(before.uid, `${stream}@${revision - 1}`, 'required, and the metadata.uid of the event before it')
    assert.is(`sha256:${before.fingerprint.value}`, prev)
  }
})

interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { readonly key: string; readonly value: JsonObject }[]
  readonly status: { readonly code: number }
}

function spansOf(text: string): OtlpSpan[] {
  return linesOf(text).flatMap((line) =>
    (line.resourceSpans as unknown as { scopeSpans: { spans: OtlpSpan[] }[] }[]).flatMap(({ scopeSpans }) =>
      scopeSpans.flatMap(({ spans }) => spans),
    ),
  )
}

test('a run is one OTLP trace: hex ids, a root, every parent there, times as texts that do not fall (FMT-5)', ({
  texts,
}) => {
  const spans = spansOf(texts.otlp)
  const ids = new Set(spans.map(({ spanId }) => spanId))
  assert.is(ids.size, spans.length)
  assert.is(spans.filter(({ parentSpanId }) => parentSpanId === undefined).length, 1)
  for (const span of spans) {
    assert.is(span.traceId, traceIdOf(runStream('acme', 'r1')))
    assert.match(span.traceId, /^[0-9a-f]{32}$/)
    assert.match(span.spanId, /^[0-9a-f]{16}$/)
    assert.ok(span.parentSpanId === undefined || ids.has(span.parentSpanId), span.name)
    assert.match(span.startTimeUnixNano, /^\d{19}$/)
    assert.ok(BigInt(span.startTimeUnixNano) <= BigInt(span.endTimeUnixNano))
  }
})

test('handoffs, tools and models are spans with gen_ai names; what is open says so', ({ texts }) => {
  const spans = spansOf(texts.otlp)
  const attributesOf = (name: string): Record<string, JsonObject> => {
    const span = spans.find((each) => each.name === name)
    assert.ok(span, `${name} of ${spans.map((each) => each.name).join(', ')}`)
    return Object.fromEntries(span.attributes.map(({ key, value }) => [key, value]))
  }
  assert.equal(attributesOf('invoke_agent researcher')['gen_ai.agent.name'], { stringValue: 'researcher' })
  assert.equal(attributesOf('execute_tool charge')['gen_ai.operation.name'], { stringValue: 'execute_tool' })
  assert.equal(attributesOf('execute_tool ship')['error.type'], { stringValue: 'EBROKE' })
  assert.equal(attributesOf('execute_tool left-open')['countersign.call.outcome'], { stringValue: 'open' })
  const model = attributesOf('chat m-1')
  assert.equal(model['gen_ai.usage.input_tokens'], { intValue: '20' })
  assert.equal(model['llm.cost.total'], { doubleValue: 0.25 })
  assert.equal(attributesOf('chat m-2')['llm.token_count.total'], { intValue: '5' })
  assert.equal(spans.find(({ name }) => name.startsWith('invoke_workflow'))?.status, { code: 2 })
})

test('an event with line breaks, escapes, markup and separators of Unicode stays one line in every line format (A45, FMT-1)', () => {
  const hostile = 'a\n\r\u2028\u2029\u001b[31m</script><img onerror=x>'
  for (const format of ['jsonl', 'cloudevents', 'ocsf', 'otlp'] as const) {
    const writer = FORMATS[format].open(SCOPE)
    const text = writer.head + writer.event(eventWith({ actor: hostile, agent: hostile })) + writer.rest()
    for (const line of text.split('\n').slice(0, -1)) assert.ok(JSON.parse(line))
    assert.not.ok(text.includes('\u001b') || text.includes('\r'))
  }
})

const FORMULA_STARTS = '=+-@\t\r\n\0\uff1d\uff0b\uff0d\uff20'
const SCOPE: ExportScope = { ledgerId: 'l', tenant: 'acme', leafIndex: () => undefined }

function eventWith({ actor, agent }: { actor: string; agent: string }): LedgerEvent {
  const data = { v: 1, step: 1, agent }
  const [event] = sealEvents([{ type: 'EnvelopeAccepted', data }], {
    stream: 'run-acme.r',
    tenant: 'acme',
    actor,
    revision: 0,
    clock: '2026-01-01T00:00:00.000Z',
    kid: 'k1',
    key: new Uint8Array(32),
    newId: () => '0190f0f0-0000-7000-8000-000000000000',
    newSalt: () => new Uint8Array(16),
  })
  if (event === undefined) throw new Error('nothing was sealed')
  const texts = { header: event.record.header, salt: 'AAAAAAAAAAAAAAAAAAAAAA', data: canonicalJson(data) }
  return { position: '1', header: event.header, data, digest: event.digest, headerText: texts.header, texts }
}

test('an OTLP export keeps no more open than a thousand runs: the oldest is written as it stands, each run once (F77)', () => {
  const scope: ExportScope = { ledgerId: 'l', tenant: 'acme' } as ExportScope
  const writer = FORMATS.otlp.open(scope)
  const lines: string[] = []
  for (let run = 0; run < 3_000; run += 1) {
    const header = {
      stream: runStream('acme', `r${run}`),
      type: 'RunStarted',
      time: '2024-01-01T00:00:00.000Z',
      revision: 0,
      id: `e${run}`,
    }
    lines.push(writer.event({ header, data: { v: 1, name: `n${run}` }, position: '1' } as unknown as LedgerEvent))
  }
  const early = lines
    .join('')
    .split('\n')
    .filter((line) => line !== '').length
  const all = (lines.join('') + writer.rest()).split('\n').filter((line) => line !== '').length
  assert.equal([early, all], [2_000, 3_000])
})

test.run()
