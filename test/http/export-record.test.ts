import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { EventBody } from '../../schemas/events.ts'
import { ledgerStream } from '../../schemas/names.ts'
import { FORMAT_NAMES } from '../../src/export/formats.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { StoreUnavailableError } from '../../src/store/event-store.ts'
import { collect } from '../support/records.ts'
import { bearer, bodyOf, type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('http: exports on record')

async function filled(options: Parameters<typeof testEdge>[0] = {}): Promise<TestEdge> {
  const edge = await testEdge(options)
  await edge.started('one', { policy: { suspect: 'refuse' } })
  for (let n = 0; n < 30; n += 1)
    await edge.post('/v1/runs/one/envelopes', { agent: 'a', payload: { n, text: 'x'.repeat(5_000) } })
  return edge
}

/** The methods of a class do not come along by spreading. */
function exportsOf({ exports }: Ledger): Ledger['exports'] {
  return {
    pin: (...asked) => exports.pin(...asked),
    reading: (...asked) => exports.reading(...asked),
    leafReading: (...asked) => exports.leafReading(...asked),
    lostBehind: (...asked) => exports.lostBehind(...asked),
    edgeAt: (...asked) => exports.edgeAt(...asked),
    lostInLog: (...asked) => exports.lostInLog(...asked),
    sealedPin: (caller) => exports.sealedPin(caller),
    leaves: (...asked) => exports.leaves(...asked),
    streamPath: (...asked) => exports.streamPath(...asked),
    timestamp: (...asked) => exports.timestamp(...asked),
    runEvents: (...asked) => exports.runEvents(...asked),
    valueParts: (...asked) => exports.valueParts(...asked),
    proofFile: (...asked) => exports.proofFile(...asked),
    sign: (...asked) => exports.sign(...asked),
    now: () => exports.now(),
    record: (...asked) => exports.record(...asked),
  }
}

interface OnRecord {
  readonly type: string
  readonly actor: string
  readonly principal?: string
  readonly data: EventBody<'ExportStarted'> & Partial<EventBody<'ExportIssued'>>
}

async function onRecord(edge: TestEdge): Promise<OnRecord[]> {
  const records = await collect(edge.inner.store.readStream(ledgerStream(edge.tenant)))
  return records.map(({ header, data }) => {
    const { type, actor, principal } = JSON.parse(header)
    return { type, actor, ...(principal && { principal }), data: JSON.parse(data) }
  })
}

test('an export is on record, in the name of who asked, with format, pin, count, bytes and digest', async () => {
  await using edge = await filled()
  const headers = await bearer(edge, { subject: 'auditor', act: { sub: 'tool' } })
  const text = await (await edge.get('/v1/runs/one/export', headers)).text()
  const { trailer } = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '')
  const [started, issued, ...more] = await onRecord(edge)
  assert.is(more.length, 0)
  assert.equal([started?.type, started?.actor, started?.principal], ['ExportStarted', 'tool', 'auditor'])
  assert.equal([started?.data.format, started?.data.run, started?.data.asOf], ['jsonl', 'one', trailer.asOf])
  const { exportId, outcome, events, digest, bytes } = issued?.data ?? {}
  assert.equal([exportId, outcome, events, digest], [started?.data.exportId, 'complete', 60, trailer.digest])
  assert.is(bytes, Buffer.byteLength(text.slice(0, text.lastIndexOf('{"trailer"'))))
})

test('an export that the reader leaves is on record as cut, with what was made until then', async () => {
  await using edge = await filled()
  const reader = (await edge.get('/v1/export')).body?.getReader()
  const first = await reader?.read()
  await reader?.cancel()
  const [started, issued] = await onRecord(edge)
  assert.is(started?.type, 'ExportStarted')
  assert.equal([issued?.data.outcome, issued?.data.bytes], ['cut', first?.value?.length])
})

test('where the start cannot be recorded, nothing leaves and the answer says to ask again (LOG-12)', async () => {
  const refusing = (ledger: Ledger): Ledger => ({
    ...ledger,
    exports: {
      ...exportsOf(ledger),
      record: async () => {
        throw new StoreUnavailableError('the disk is gone', 2_000)
      },
    },
  })
  await using edge = await filled({ wrap: refusing, settings: { streamsPerTenant: 1 } })
  for (let times = 0; times < 3; times += 1) {
    const response = await edge.get('/v1/export')
    assert.equal([response.status, response.headers.get('retry-after')], [503, '2'], 'and its slot is free again')
  }
})

test('an export whose end cannot be recorded has no trailer (LOG-12, LOG-13)', async () => {
  const forgetful = (ledger: Ledger): Ledger => ({
    ...ledger,
    exports: {
      ...exportsOf(ledger),
      record: async (caller, fact) => {
        if (fact.type === 'ExportIssued') throw new StoreUnavailableError('the disk is gone', 2_000)
        await ledger.exports.record(caller, fact)
      },
    },
  })
  await using edge = await filled({ wrap: forgetful })
  let text = ''
  try {
    for await (const chunk of (await edge.get('/v1/export')).body ?? []) text += Buffer.from(chunk).toString()
  } catch {
    // The stream is cut, not closed.
  }
  assert.ok(text.length > 0)
  assert.not.match(text, /trailer/)
})

test('a cut export goes on where it stopped, and the whole is the same bytes in every format (F30, LOG-11)', async () => {
  await using edge = await filled()
  for (const format of FORMAT_NAMES) {
    const response = await edge.get(`/v1/export?format=${format}`)
    const whole = Buffer.from(await response.arrayBuffer())
    const cursor = response.headers.get('countersign-export-cursor')
    await edge.post('/v1/runs/one/envelopes', { agent: 'a', payload: { later: format } })
    for (const offset of [0, 1, Math.floor(whole.length / 2), whole.length - 1]) {
      const rest = await edge.get(`/v1/export?format=${format}&cursor=${cursor}&offset=${offset}`)
      const joined = Buffer.concat([whole.subarray(0, offset), Buffer.from(await rest.arrayBuffer())])
      assert.ok(joined.equals(whole), `${format} from ${offset}`)
    }
  }
  const resumed = (await onRecord(edge)).filter(({ data }) => data.offset !== undefined)
  assert.is(resumed.length, FORMAT_NAMES.length * 3)
})

test('a cursor of another path or format, and an offset without one, are refused with what to do (A42)', async () => {
  await using edge = await filled()
  const cursor = (await edge.get('/v1/export')).headers.get('countersign-export-cursor')
  const wrong = [
    `/v1/export?format=csv&cursor=${cursor}`,
    `/v1/runs/one/export?cursor=${cursor}`,
    `/v1/export?cursor=${cursor?.slice(1)}`,
    '/v1/export?offset=3',
  ]
  for (const path of wrong) {
    const response = await edge.get(path)
    const { code, detail } = await bodyOf(response)
    assert.equal([response.status, code], [400, 'invalid-cursor'], path)
    assert.match(detail, /offset=<bytes received>/)
  }
  assert.is((await edge.get('/v1/export?format=xml')).status, 400)
})

test('HEAD tells the type and puts nothing on record', async () => {
  await using edge = await filled()
  const headers = await bearer(edge, {})
  const response = await edge.app.request('/v1/export?format=csv', { method: 'HEAD', headers })
  assert.match(response.headers.get('content-type') ?? '', /^text\/csv/)
  assert.equal(await onRecord(edge), [])
})

test.run()
