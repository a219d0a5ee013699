import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Finding } from '../../../../schemas/finding.ts'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { addEvidence, addToolResult, type Evidence, emptyEvidence } from '../../../../src/domain/validator/evidence.ts'
import { sinceAfter } from '../../../../src/domain/validator/grounding/established-since.ts'
import { noteOutcome } from '../../../../src/domain/validator/grounding/recorded-results.ts'
import { type Verdict, validateHandoff } from '../../../../src/domain/validator/validate.ts'

const test = suite('judgement: tools and evidence')

const ORDER = { order_id: 'A-1001', status: 'packed', total: 120, city: 'Bern' }

function recorded(...results: readonly Json[]): Evidence {
  const evidence = emptyEvidence(7)
  for (const [i, value] of results.entries()) addToolResult(evidence, { value, revision: i + 1, bytes: 0 })
  return evidence
}

function judge(
  before: JsonObject,
  after: JsonObject,
  evidence: Evidence,
  ungrounded: 'warn' | 'reject' = 'reject',
): Verdict {
  return validateHandoff({ before, after, evidence, policy: resolvePolicy({ ungrounded, suspect: 'refuse' }) })
}

function found({ findings }: Verdict): readonly string[] {
  return findings.map(({ rule, severity, path }) => `${rule} ${severity} ${path}`)
}

test('a change that a later result of a tool made is no contradiction, and names the event (JUD-19)', () => {
  const now = { ...ORDER, city: 'Basel' }
  const verdict = judge({ orders: [ORDER] }, { orders: [now] }, recorded(ORDER, now))
  assert.is(verdict.verdict, 'accept')
  const { message, ...moved } = verdict.findings[0] as Finding
  assert.match(message, 'event 2')
  assert.equal(moved, {
    rule: 'moved-by-tool',
    severity: 'info',
    path: '/orders/0/city',
    before: 'Bern',
    after: 'Basel',
    source: { revision: 2 },
  })
})

test('a value of another thing, or under the same key alone, moves nothing; nor does one that was there before (JUD-19)', () => {
  const [now, other] = [
    { ...ORDER, city: 'Basel' },
    { ...ORDER, order_id: 'B-2002', city: 'Basel' },
  ]
  const [before, after] = [{ orders: [ORDER] }, { orders: [now] }]
  for (const result of [other, { city: 'Basel' }, { place: { city: 'Basel' } }, [other]]) {
    assert.is(judge(before, after, recorded(ORDER, result)).verdict, 'reject')
  }
  const earlier = recorded(now, ORDER)
  assert.is(judge(before, after, earlier).verdict, 'reject')
  const establishedLater = recorded(now)
  establishedLater.results.since = sinceAfter(establishedLater.results.since, [{}, before], 5)
  assert.is(judge(before, after, establishedLater).verdict, 'reject')
})

test('a leaf under a known identity that differs from the recorded one disagrees with the tool, whatever its type (JUD-21)', () => {
  for (const [key, value] of [
    ['total', 210],
    ['city', 'Basel'],
    ['status', 'sent'],
  ] as const) {
    const after = { orders: [{ ...ORDER, [key]: value }] }
    assert.equal(found(judge({}, after, recorded(ORDER))), [`disagrees-with-tool error /orders/0/${key}`])
    assert.is(judge({}, after, recorded(ORDER), 'warn').verdict, 'accept')
  }
  const beside = { orders: { [ORDER.order_id]: ORDER }, second: { ...ORDER, city: 'Basel' } }
  const established = { orders: { [ORDER.order_id]: ORDER } }
  assert.equal(found(judge(established, beside, recorded(ORDER))), ['disagrees-with-tool error /second/city'])
  const small = { orders: [{ ...ORDER, parcels: 3 }] }
  assert.equal(found(judge({}, small, recorded({ ...ORDER, parcels: 2 }))), [])
  assert.equal(found(judge({}, { orders: [ORDER] }, recorded(ORDER))), [])
})

test('an action handed over as done whose recorded call failed disagrees with the tool (JUD-21)', () => {
  const evidence = recorded()
  noteOutcome(evidence.results, 'call-1', { tool: 'refund', revision: 4 }, true)
  for (const action of [
    { id: 'call-1', status: 'done' },
    { tool: 'refund', status: 'completed' },
  ]) {
    assert.equal(found(judge({}, { actions: [action] }, evidence)), ['disagrees-with-tool error /actions/0/status'])
    assert.equal(found(judge({}, { actions: [{ ...action, status: 'failed' }] }, evidence)), [])
  }
  noteOutcome(evidence.results, 'call-2', { tool: 'refund', revision: 6 }, false)
  assert.equal(found(judge({}, { actions: [{ tool: 'refund', status: 'completed' }] }, evidence)), [])
})

test('two members given apart ground their joined form; counts, sums, differences and products are derived (JUD-20)', () => {
  const evidence = recorded(
    { passenger: { first_name: 'Mia', last_name: 'Li' } },
    { fares: [{ price: 120 }, { price: 85 }] },
  )
  assert.equal(found(judge({}, { entities: ['Mia Li'] }, evidence)), [])
  const facts = { fares: [{ price: 120 }, { price: 85 }] }
  assert.equal(found(judge({}, { facts: { ...facts, sum: 205 } }, evidence)), ['derived info /facts/sum'])
  assert.equal(found(judge({}, { facts: { ...facts, off: 35 } }, evidence)), ['derived info /facts/off'])
  assert.equal(found(judge({}, { facts: { ...facts, other: 977 } }, evidence)), ['ungrounded error /facts/other'])
})

test('under reject, what a cut index cannot judge is refused, and is a warning under warn (JUD-22)', () => {
  const evidence = addEvidence(emptyEvidence(), `${'word '.repeat(2_000_000)}end`)
  assert.is(evidence.truncated, true)
  const after = { entities: ['Somebody New'] }
  assert.equal(found(judge({}, after, evidence)), ['evidence-truncated error '])
  assert.is(judge({}, after, evidence).verdict, 'reject')
  assert.is(judge({}, after, evidence, 'warn').verdict, 'accept')
})

test.run()
