import { createHash } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { exportLine } from '../../src/export/jsonl.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { bodyOf, type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('http: exports and replay')

async function filled(options: Parameters<typeof testEdge>[0] = {}): Promise<TestEdge> {
  const edge = await testEdge(options)
  for (const run of ['one', 'two']) {
    await edge.started(run)
    for (let n = 0; n < 40; n += 1)
      await edge.post(`/v1/runs/${run}/envelopes`, {
        agent: 'a',
        payload: { text: `\u2028 line ${n}\n`, big: 'x'.repeat(3_000) },
      })
  }
  return edge
}

function trailerOf(text: string): Record<string, unknown> {
  const lines = text.split('\n')
  assert.is(lines.pop(), '', 'the last line ends, too')
  return JSON.parse(lines.at(-1) ?? '').trailer
}

test('an export is the stored records, one a line, and a trailer that counts and digests them', async () => {
  await using edge = await filled()
  const response = await edge.get('/v1/runs/one/export')
  const text = await response.text()
  const lines = text.trimEnd().split('\n').slice(0, -1)
  const records: string[] = []
  for await (const page of edge.inner.store.readStream(`run-${edge.tenant}.one`)) {
    for (const { header, salt, data } of page)
      records.push(exportLine({ header, salt: Buffer.from(salt).toString('base64url'), data }))
  }
  assert.is(response.headers.get('content-type'), 'application/x-ndjson')
  assert.equal(
    lines.map((line) => `${line}\n`),
    records,
  )
  const digest = `sha256:${createHash('sha256').update(records.join('')).digest('hex')}`
  const { ledgerId } = edge.inner.ledger
  const place = { v: 1, ledgerId, tenant: edge.tenant, run: 'one' }
  assert.equal(trailerOf(text), { ...place, events: 41, digest, asOf: null, treeSize: null, root: null })
})

test('the trailer of an export, and its start on record, say the last event of the log up to there, and no position (A66)', async () => {
  await using edge = await testEdge({ merkleLogs: true })
  await edge.started('one')
  const [, last = ''] = /"id":"([^"]+)"/.exec(await (await edge.get('/v1/runs/one/events')).text()) ?? []
  const text = await (await edge.get('/v1/export')).text()
  assert.equal([trailerOf(text).asOf, trailerOf(text).treeSize], [last, 1])
  const again = await (await edge.get('/v1/export')).text()
  const started = again.split('\n').find((line) => line.includes('"type":"ExportStarted"')) ?? ''
  assert.is(JSON.parse(started).data.asOf, last)
})

test('a pull from a leaf answers with a trailer that says where to go on, an empty one where nothing is new; a leaf that is not there yet is 400 with the size, and a run has none (HTTP-17)', async () => {
  await using edge = await testEdge({ merkleLogs: true })
  await edge.started('one')
  const first = trailerOf(await (await edge.get('/v1/export?from=0')).text())
  assert.equal([first.events, first.from, first.to, first.treeSize], [1, 0, 1, 1])
  const second = await edge.get(`/v1/export?from=${first.to}`)
  const trailer = trailerOf(await second.text())
  assert.equal(
    [second.status, trailer.from, trailer.to],
    [200, 1, 3],
    'the first pull is on record, and so in the second',
  )
  const beyond = await edge.get('/v1/export?from=1000')
  const { code, treeSize } = (await beyond.json()) as Record<string, unknown>
  assert.equal([beyond.status, code, Number(treeSize) > 3], [400, 'beyond-log', true])
  for (const path of [
    '/v1/export?from=-1',
    '/v1/export?from=x',
    '/v1/export?from=0&agent=a',
    '/v1/runs/one/export?from=0',
  ]) {
    const refused = await edge.get(path)
    assert.equal(
      [refused.status, ((await refused.json()) as Record<string, unknown>).code],
      [400, 'invalid-query'],
      path,
    )
  }
})

test('a part that was cut is resumed by its cursor and length, under its own leaf alone (HTTP-17)', async () => {
  await using edge = await filled({ merkleLogs: true })
  const first = await edge.get('/v1/export?from=3')
  const whole = Buffer.from(await first.arrayBuffer())
  const cursor = first.headers.get('countersign-export-cursor') ?? ''
  const rest = await edge.get(`/v1/export?from=3&cursor=${cursor}&offset=1000`)
  assert.ok(Buffer.from(await rest.arrayBuffer()).equals(whole.subarray(1000)))
  for (const other of ['from=4&', '']) {
    const refused = await edge.get(`/v1/export?${other}cursor=${cursor}&offset=1000`)
    assert.is(((await refused.json()) as Record<string, unknown>).code, 'invalid-cursor')
  }
})

test("a tenant's export is all its events, pinned to the moment of asking (LOG-11)", async () => {
  await using edge = await filled()
  const response = await edge.get('/v1/export')
  await edge.started('later')
  const text = await response.text()
  const { run, events } = trailerOf(text)
  assert.equal([run, events, text.includes(`run-${edge.tenant}.later`)], [null, 82, false])
})

test('an export of nothing is a trailer', async () => {
  await using edge = await testEdge()
  const text = await (await edge.get('/v1/export')).text()
  assert.is(trailerOf(text).events, 0)
  assert.is(text.split('\n').length, 2)
})

test('an export whose source breaks has no trailer, and does not end as if it were whole (F30)', async () => {
  const breaking = (ledger: Ledger): Ledger => ({
    ...ledger,
    tenantEvents: async function* (...asked) {
      let pages = 0
      for await (const page of ledger.tenantEvents(...asked)) {
        if (pages++ === 1) throw new Error('disk gone: canary')
        yield page.slice(0, 20)
      }
      throw new Error('disk gone: canary')
    },
  })
  await using edge = await filled({ wrap: breaking })
  const response = await edge.get('/v1/export')
  let text = ''
  let broken = ''
  try {
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true })
  } catch (error) {
    broken = String(error)
  }
  assert.ok(text.length > 0)
  assert.not.match(text, /trailer/)
  assert.not.match(broken, /^$|canary/)
  assert.is(edge.logs.filter(({ level }) => level === 'error').length, 1)
})

test('an export that nobody reads makes nothing; one that is left stops its source (F26, A43)', async () => {
  let given = 0
  let returned = 0
  const endless = (ledger: Ledger): Ledger => ({
    ...ledger,
    tenantEvents: async function* (caller, range) {
      const pages = []
      for await (const page of ledger.tenantEvents(caller, range)) pages.push(page)
      try {
        for (;;) {
          given += 1
          yield pages[0] ?? []
        }
      } finally {
        returned += 1
      }
    },
  })
  await using edge = await filled({ wrap: endless })
  const reader = (await edge.get('/v1/export')).body?.getReader()
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.is(given, 0)
  await reader?.read()
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.is(given, 1)
  await reader?.cancel()
  assert.is(returned, 1)
})

test('a replay is one line an event and a verdict last', async () => {
  await using edge = await filled()
  const lines = (await (await edge.get('/v1/runs/one/replay')).text()).trimEnd().split('\n')
  assert.is(lines.length, 42)
  const last = JSON.parse(lines.at(-1) ?? '')
  assert.ok('verdict' in last, JSON.stringify(last))
})

test('an export of a run needs the run to be there', async () => {
  await using edge = await testEdge()
  for (const path of ['export', 'replay', 'tail', 'events']) {
    const response = await edge.get(`/v1/runs/nobody/${path}`)
    assert.equal([response.status, (await bodyOf(response)).code], [404, 'run-not-found'])
  }
})

test.run()
