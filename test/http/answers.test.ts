import { randomUUID } from 'node:crypto'
import { parse } from 'csv-parse/sync'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnswerTrailer } from '../../schemas/answer-trailer.ts'
import { ledgerStream } from '../../schemas/names.ts'
import { AUDIT_QUERIES } from '../../src/ledger/audit/audit-queries.ts'
import { parseVerifierKey } from '../../src/merkle/note-key.ts'
import { verifyBundle } from '../../src/verify/bundle/verify-bundle.ts'
import { checkView, viewFormat } from '../../src/verify/view-export.ts'
import { auditOf } from '../support/audited.ts'
import { collect } from '../support/records.ts'
import { bearer, type TestEdge, testEdge } from '../support/test-edge.ts'
import { eventually } from '../support/within.ts'

const test = suite<{ edge: TestEdge }>('http: answers to auditors as files')

test.before(async (context) => {
  context.edge = await testEdge({ audit: true, merkleLogs: true })
  const { edge } = context
  await edge.started('r')
  await edge.post('/v1/runs/r/envelopes', { agent: 'a', payload: { entities: ['=Apple'] } })
  await edge.post('/v1/runs/r/envelopes', { agent: 'b', payload: { note: 'x' } })
  for (let n = 0; n < 260; n += 1) await edge.inner.ledger.execute(callerOf(edge), 'r', usage(n), {})
  await edge.started('s')
})
test.after(async ({ edge }) => {
  await edge[Symbol.asyncDispose]()
})

const callerOf = ({ tenant }: TestEdge) => ({ tenant, actor: 'alice' })
const usage = (n: number) =>
  ({
    kind: 'usage',
    body: { agent: 'a', usage: { tokens: n + 1, cost: '0.001', currency: 'USD', model: 'm' } },
  }) as const

interface Row {
  readonly [member: string]: unknown
}
interface Page {
  readonly items: readonly Row[]
  readonly nextCursor: string | null
}

/** All pages of an answer, as of a size. */
async function pagesOf(edge: TestEdge, path: string, asOf: number): Promise<readonly Row[]> {
  const rows: Row[] = []
  const and = path.includes('?') ? '&' : '?'
  for (let cursor = ''; ; ) {
    const page = (await (await edge.get(`${path}${and}asOf=${asOf}&limit=500${cursor}`)).json()) as Page
    rows.push(...page.items)
    if (page.nextCursor === null) return rows
    cursor = `&cursor=${page.nextCursor}`
  }
}

const linesOf = (text: string): readonly Row[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Row)
const trailerOf = (text: string): AnswerTrailer => linesOf(text).at(-1)?.trailer as AnswerTrailer

async function fault({ inner, tenant }: TestEdge, text: string, keyless = false): Promise<string> {
  const verifier = keyless ? undefined : parseVerifierKey(inner.ledger.logs?.verifierKey(tenant) ?? '')
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(text)
  }
  const { fault } = await checkView(chunks(), viewFormat(text) ?? '', () => verifier)
  return fault.code === 'view' ? fault.message : fault.code
}

const QUERY: Readonly<Record<string, string>> = { search: '?text=note', sample: '?seed=s', spend: '?by=model' }

test('the file of each query holds every row of its answer, as of one size, and says what was asked, as of when, how much, and by whom, under the key of the log (HTTP-18)', async ({
  edge,
}) => {
  for (const [name, { columns }] of Object.entries(AUDIT_QUERIES)) {
    const asked = `${name}${QUERY[name] ?? ''}`
    const text = await (await edge.get(`/v1/answers/${asked}`)).text()
    const { rows, treeSize, question, exportedBy, tenant, restsOn } = trailerOf(text)
    const answer = await pagesOf(edge, `/v1/audit/${asked}`, treeSize)
    assert.equal(trailerOf(text).notSearched, name === 'search' ? ['large-values', 'encrypted-values'] : undefined)
    assert.equal(linesOf(text).slice(1, -1), answer, name)
    assert.equal([rows, question.query, exportedBy.actor, tenant], [answer.length, name, 'alice', edge.tenant])
    assert.is(restsOn, name === 'keys' ? 'sealed-index' : 'events')
    assert.match(
      await fault(edge, text),
      `of the first ${treeSize} events of the log of ${edge.tenant}: all ${rows} rows`,
    )
    const csv = await (
      await edge.get(`/v1/answers/${asked}${asked.includes('?') ? '&' : '?'}format=csv&asOf=${treeSize}`)
    ).text()
    const cells = parse(csv, { columns: true, record_delimiter: '\r\n' }) as Record<string, string>[]
    assert.equal(
      cells.slice(0, -1).map(({ row = '' }) => JSON.parse(row)),
      answer,
      name,
    )
    assert.equal(Object.keys(cells[0] ?? {}), ['answer', ...columns, 'row'])
    assert.match(await fault(edge, csv), `its trailer is signed with`)
  }
})

test('an answer of many pages is whole and of one size, whatever is written meanwhile (HTTP-18)', async ({ edge }) => {
  const response = await edge.get(
    '/v1/answers/events?types=UsageRecorded,EnvelopeAccepted,SnapshotTaken,RunStarted,RequestRefused,BudgetReserved,AccessRecorded,ExportStarted,ExportIssued&order=desc',
  )
  await edge.started(`later-${Math.random().toString(36).slice(2)}`)
  const text = await response.text()
  const { treeSize, rows, question } = trailerOf(text)
  const leaves = linesOf(text)
    .slice(1, -1)
    .map(({ leaf }) => Number(leaf))
  assert.equal(
    leaves,
    [...leaves].sort((a, b) => b - a),
  )
  assert.ok(leaves.every((leaf) => leaf < treeSize) && new Set(leaves).size === rows && rows > 260)
  assert.is(question.order, 'desc')
  const again = await (await edge.get(`/v1/answers/events?types=UsageRecorded&asOf=${treeSize}`)).text()
  assert.is(trailerOf(again).treeSize, treeSize)
})

test('an answer that was changed, cut, or has another trailer is named; without the key its signature is said to be unchecked (A237)', async ({
  edge,
}) => {
  const text = await (await edge.get('/v1/answers/rejections?since=2020-01-01T00:00:00.000Z')).text()
  const lines = text.split(/(?<=\n)/)
  const [head = '', row = '', last = ''] = lines
  assert.is(lines.length, 3)
  assert.match(await fault(edge, text), '2020-01-01')
  assert.match(await fault(edge, text, true), 'a key that was not supplied')
  assert.is(await fault(edge, head + last), 'trailer-digest')
  assert.is(await fault(edge, head.replace('2020', '2019') + row + last), 'trailer-digest')
  assert.is(await fault(edge, head + row), 'no-trailer')
  assert.is(await fault(edge, text.replace('"rows":1', '"rows":2')), 'trailer-signature')
  assert.is(await fault(edge, text.replace(/"actor":"alice"(?=\},"time)/, '"actor":"bob"')), 'trailer-signature')
  assert.is(await fault(edge, text.replace(/,"signature":\{[^}]*\}/, '')), 'no-trailer')
  assert.is(await fault(edge, text.replace(/"treeSize":\d+/, '"treeSize":1')), 'trailer-signature')
})

test('an answer that leaves is on record as an export, with its question, and one whose reader leaves as cut (HTTP-18)', async () => {
  await using edge = await testEdge({ audit: true, merkleLogs: true })
  await edge.started('r')
  const issued = async (): Promise<readonly Row[]> =>
    (await collect(edge.inner.store.readStream(ledgerStream(edge.tenant))))
      .map(({ data }) => JSON.parse(data) as Row)
      .filter(({ outcome }) => outcome !== undefined)
  const text = await (await edge.get('/v1/answers/events?actor=alice')).text()
  const [first] = await issued()
  assert.equal(
    [first?.format, first?.filter, first?.outcome, first?.events, first?.digest],
    ['answer-jsonl', { query: 'events', filter: { actor: 'alice' } }, 'complete', 1, trailerOf(text).digest],
  )
  await (await edge.get('/v1/answers/events')).body?.cancel()
  const second = await eventually(async () => (await issued())[1], 'the cut on record')
  assert.is(second.outcome, 'cut')
})

test('an answer is given as a bundle that verifies, is on record as an export, and goes to no token that is bound to a run (HTTP-25)', async ({
  edge,
}) => {
  const response = await edge.get('/v1/answers/rejections?agent=b&format=bundle')
  assert.is(response.headers.get('content-type'), 'application/x-tar')
  const key = edge.inner.ledger.logs?.verifierKey(edge.tenant)
  const { verdict, about } = verifyBundle(new Uint8Array(await response.arrayBuffer()), { key })
  assert.equal([verdict, about?.answer?.rows, about?.answer?.question.query], ['VERIFIED', 1, 'rejections'])
  const then = await edge.get('/v1/answers/runs?format=bundle&asOf=2')
  const past = verifyBundle(new Uint8Array(await then.arrayBuffer()), { key })
  assert.equal([past.verdict, past.about?.answer?.question.asOf], ['VERIFIED', 2])
  const issued = (await collect(edge.inner.store.readStream(ledgerStream(edge.tenant))))
    .map(({ data }) => JSON.parse(data) as Row)
    .filter(({ format, outcome }) => format === 'answer-bundle' && outcome === 'complete')
  assert.equal(
    issued.map(({ filter }) => filter),
    [
      { query: 'rejections', filter: { agent: 'b' } },
      { query: 'runs', filter: {}, asOf: 2 },
    ],
  )
  const code = async (path: string, headers = {}): Promise<unknown> =>
    ((await (await edge.get(path, headers)).json()) as Row).code
  assert.is(await code('/v1/answers/rejections?format=bundle', await bearer(edge, { run: 'r' })), 'run-mismatch')
  for (const asked of [
    'keys?format=bundle',
    'events?format=bundle&asOf=99999',
    'events?format=bundle&order=desc',
    'runs?tool=x&format=bundle',
  ])
    assert.is(await code(`/v1/answers/${asked}`), 'invalid-query', asked)
})

test('what is on record of the service, and of the tokens issued for a tenant, is given as a file whose trailer says that it is the ledger’s own record (LOG-37)', async () => {
  await using edge = await testEdge({ audit: true, merkleLogs: true })
  const { service } = edge.inner.ledger
  await edge.started('r')
  for (let n = 0; n < 3; n += 1)
    await service.stopped(await service.started({ version: '1', node: 'v20', settings: {} }))
  const issued = {
    v: 1 as const,
    kid: 't1',
    scopes: ['runs:read'],
    issuedAt: '2026-01-02T03:04:05.000Z',
    expires: '2026-01-02T04:04:05.000Z',
  }
  for (const forTenant of [edge.tenant, edge.foreign])
    await service.tokenIssued({ ...issued, token: randomUUID(), subject: `for ${forTenant}`, forTenant } as never)
  for (const asked of ['service', 'service?types=ServiceStarted', 'tokens', 'tokens?until=2001-01-01T00:00:00.000Z']) {
    const text = await (await edge.get(`/v1/answers/${asked}`)).text()
    const page = (await (await edge.get(`/v1/audit/${asked}`)).json()) as Page
    assert.equal(linesOf(text).slice(1, -1), page.items, asked)
    const { restsOn, rows, question, tenant } = trailerOf(text)
    assert.equal(
      [restsOn, rows, question.query, tenant],
      ['ledger-record', page.items.length, asked.split('?')[0], edge.tenant],
    )
    assert.match(await fault(edge, text), "out of the ledger's own record")
    assert.is(await fault(edge, text.replace('"rows":', '"rows":1')), 'trailer-signature')
    const csv = await (await edge.get(`/v1/answers/${asked}${asked.includes('?') ? '&' : '?'}format=csv`)).text()
    assert.equal((parse(csv, { columns: true, record_delimiter: '\r\n' }) as unknown[]).length, page.items.length + 1)
  }
  const code = async (path: string, headers = {}): Promise<unknown> =>
    ((await (await edge.get(path, headers)).json()) as Row).code
  for (const asked of [
    'service?actor=alice',
    'tokens?types=TokenIssued',
    'service?order=desc',
    'tokens?asOf=1',
    'service?format=bundle',
    'service?by=run',
  ])
    assert.is(await code(`/v1/answers/${asked}`), 'invalid-query', asked)
  for (const bound of [{ run: 'r' }, { agent: 'a' }])
    assert.match(String(await code('/v1/answers/tokens', await bearer(edge, bound))), /-mismatch$/)
  assert.is(await code('/v1/answers/service', await bearer(edge, { scopes: ['audit:read'] })), 'scope-missing')
  const reads = await pagesOf(
    edge,
    '/v1/audit/access',
    (await auditOf(edge.inner.ledger).asOf(callerOf(edge))).treeSize,
  )
  assert.ok(reads.some(({ query, count }) => query === 'audit/tokens' && count === 1))
})

test('what a query does not take is refused before anything is on record: 400, 403 or 404 (HTTP-18)', async ({
  edge,
}) => {
  const code = async (path: string, headers = {}): Promise<unknown> =>
    ((await (await edge.get(path, headers)).json()) as Row).code
  assert.is(await code('/v1/answers/nothing'), 'not-found')
  for (const asked of [
    'runs?tool=x',
    'search',
    'sample',
    'runs?order=desc',
    'events?asOf=99999999',
    'spend?by=colour',
    'events?format=xml',
    'events?cursor=x',
  ])
    assert.is(await code(`/v1/answers/${asked}`), 'invalid-query', asked)
  assert.is(await code('/v1/answers/events', await bearer(edge, { scopes: ['audit:read'] })), 'scope-missing')
  assert.is(await code('/v1/answers/events', await bearer(edge, { run: 'r' })), 'run-mismatch')
})

test.run()
