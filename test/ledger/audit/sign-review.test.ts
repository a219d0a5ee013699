import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import { ledgerStream } from '../../../schemas/names.ts'
import type { SignReview } from '../../../schemas/review.ts'
import { collect } from '../../support/records.ts'
import { alice, type TestLedger, testLedger } from '../../support/test-ledger.ts'

const test = suite('reviews that are signed off')

const ASKED: SignReview = { query: 'refusals', asOf: 1, findings: 'nothing odd' }
const started = async (t: TestLedger) =>
  assert.ok((await t.run('r', { kind: 'start', body: { id: 'r', name: 'r' } })).ok)

async function signing(t: TestLedger, asked: SignReview, caller = alice): Promise<JsonObject> {
  const found = await t.ledger.signReview?.(caller, asked)
  assert.ok(found)
  return (found.ok ? found.value : { code: found.code, detail: found.detail }) as JsonObject
}

test('a review names the query, its filters and the last event that was reviewed, and is listed by the query reviews (LIFE-40, LIFE-41)', async () => {
  await using t = await testLedger({ audit: true })
  await started(t)
  const first = (await collect(t.store.readAll())).find(({ header }) => header.includes('RunStarted'))
  const { id } = JSON.parse(first?.header ?? '{}')
  const asked = { ...ASKED, query: 'spend', filters: { run: 'r', by: 'day' }, comment: 'as planned' }
  const { review, ...answer } = await signing(t, asked, { ...alice, principal: 'ann' })
  assert.equal(answer, { query: 'spend', asOf: 1, eventId: id })
  const records = await collect(t.store.readStream(ledgerStream(alice.tenant)))
  const signed = records.find(({ header }) => JSON.parse(header).type === 'ReviewSigned')
  const asOf = { treeSize: 1, eventId: id }
  const { filters, findings: found, comment } = asked
  assert.equal(JSON.parse(signed?.data ?? '{}'), { v: 1, review, query: 'spend', filters, asOf, found, comment })

  const listed = await t.ledger.audit?.ask(alice, { name: 'reviews', filter: {} }, { limit: 10 })
  assert.ok(listed?.ok)
  const rows = listed.items.map(({ type, principal, detail }) => ({ type, principal, detail }))
  assert.equal(rows, [
    { type: 'ReviewSigned', principal: 'ann', detail: { review, query: 'spend', filters, asOf, found, comment } },
  ])
})

test('a review of what nobody can have read is refused, and not recorded (LIFE-40)', async () => {
  await using t = await testLedger({ audit: true })
  await started(t)
  for (const [code, asked, caller] of [
    ['invalid-query', { ...ASKED, query: 'no-such-query' }, alice],
    ['invalid-query', { ...ASKED, query: 'constructor' }, alice],
    ['invalid-query', { ...ASKED, filters: { agentt: 'a' } }, alice],
    ['invalid-query', { ...ASKED, filters: { since: 'yesterday' } }, alice],
    ['invalid-query', { ...ASKED, query: 'sample' }, alice],
    ['invalid-query', { ...ASKED, asOf: 1_000 }, alice],
    ['run-mismatch', ASKED, { ...alice, run: 'r' }],
    ['agent-mismatch', ASKED, { ...alice, agent: 'a' }],
  ] as const) {
    const { code: refused } = await signing(t, asked, caller)
    assert.is(refused, code, JSON.stringify(asked))
  }
  const records = await collect(t.store.readStream(ledgerStream(alice.tenant)))
  assert.not.ok(records.some(({ header }) => header.includes('ReviewSigned')))
})

test.run()
