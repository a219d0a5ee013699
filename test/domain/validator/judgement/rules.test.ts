import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import type { Policy } from '../../../../schemas/policy.ts'
import { DEFAULT_FREE_KEYS, resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { type HandoffInput, type Verdict, validateHandoff } from '../../../../src/domain/validator/validate.ts'

const test = suite('judgement: rules')

function judge(before: Json, after: Json, policy: Policy = 'default', more: Partial<HandoffInput> = {}): Verdict {
  return validateHandoff({
    before: before as JsonObject,
    after: after as JsonObject,
    policy: resolvePolicy(policy),
    ...more,
  })
}

/** `rule path` of each finding. */
const found = ({ findings }: Verdict): string[] => findings.map(({ rule, path }) => `${rule} ${path}`)
/** Below one protected key. */
const facts = (before: Json, after: Json, policy: Policy = 'default'): string[] =>
  found(judge({ facts: before }, { facts: after }, policy))

test('a vanished object, list or scalar is a finding, a vanished null none; a critical key must not vanish at all (JUD-2)', () => {
  assert.equal(facts({ a: 1, b: [1], c: {}, d: null, e: '' }, {}), [
    'contradicted /facts/a',
    'contradicted /facts/b',
    'contradicted /facts/c',
  ])
  assert.equal(found(judge({ mine: null, facts: null, yours: 1 }, {})), [
    'critical-key-removed /facts',
    'contradicted /yours',
  ])
})

test('keys of work in progress are free, however they are spelt, and what a policy names instead (JUD-1)', () => {
  for (const key of [...DEFAULT_FREE_KEYS, 'nextStep', 'Next-Step', 'SUMMARY']) {
    assert.equal(found(judge({ [key]: 'a', facts: 1 }, { facts: 1 })), [], key)
    assert.equal(found(judge({ [key]: 'a', facts: 1 }, { facts: 1 }, { freeOnly: ['board'] })), [
      `contradicted /${key}`,
    ])
    assert.equal(found(judge({ [key]: 1, facts: 1 }, { facts: 1 }, { free: [key] })), [], key)
  }
  assert.equal(found(judge({ board: 1, facts: 1 }, { facts: 1 })), ['contradicted /board'])
  assert.equal(found(judge({ board: 1, facts: 1 }, { facts: 1 }, { free: ['board'] })), [])
  assert.equal(found(judge({ board: 1, facts: 1 }, { facts: 1 }, { protect: ['other'] })), [])
})

test('a context that protects nothing says so, and has no confidence (JUD-3)', () => {
  const verdict = judge({ summary: 'a' }, { summary: 'b' })
  assert.equal(found(verdict), ['nothing-protected '])
  assert.is(verdict.verdict, 'accept')
  assert.is(verdict.confidence, undefined)
  assert.is(judge({ summary: 'a', facts: 1 }, { summary: 'b', facts: 1 }).confidence, 1)
})

test('the first handoff of a run is judged against the empty context (JUD-4)', () => {
  const verdict = judge({}, { facts: { a: 1 } }, 'default', { first: true })
  assert.equal([verdict.verdict, verdict.confidence, verdict.findings], ['accept', 1, []])
})

test('state words move forward, a final word is never left, and words of which neither is known say nothing of each other (JUD-10)', () => {
  const forward = [
    ['pending', 'running'],
    ['To Do', 'in_progress'],
    ['queued', 'succeeded'],
    ['draft', 'approved'],
    ['in review', 'rejected'],
    ['done', 'completed'],
    ['done', 'compensated'],
    ['resolved', 'closed'],
    ['degraded', 'resolved'],
    ['awaiting_payment', 'shipped'],
  ]
  const back = [
    ['running', 'pending'],
    ['done', 'running'],
    ['failed', 'done'],
    ['done', 'failed'],
    ['cancelled', 'running'],
    ['approved', 'rejected'],
    ['compensated', 'done'],
    ['done', 'reticulating'],
    ['shipped', 'pending'],
    ['done', ''],
    ['degraded', 'impaired'],
    ['TX', 'CA'],
    ['positive', 'negative'],
    ['II', 'III'],
    ['paid', 'unpaid'],
    ['clear', 'listed'],
  ]
  for (const key of ['status', 'ticketState', 'stage', 'build_phase']) {
    for (const [before = '', after = ''] of forward)
      assert.equal(facts({ [key]: before }, { [key]: after }), [], `${before} ${after}`)
    for (const [before = '', after = ''] of back)
      assert.is(facts({ [key]: before }, { [key]: after }).length, 1, `${before} ${after}`)
  }
  assert.equal(facts({ legal: 'pending' }, { legal: 'passed' }), [])
  assert.is(facts({ mood: 'open' }, { mood: 'closed' }).length, 1)
})

test('durations, quantities in parts and number words compare by value, and amounts with a dot in doubt by what they can say (JUD-7)', () => {
  const same: readonly (readonly [Json, Json])[] = [
    ['90 s', 'PT1M30S'],
    ['PT90S', 'PT1M30S'],
    ['P2W', '14 days'],
    ['P1Y6M', '18 months'],
    ['1.5 h', '1h30m'],
    ['5m 30s', '330 s'],
    ['1.2 m', '1 m 20 cm'],
    ['5 ft 10 in', '70 inches'],
    ['2 days, 4 hours and 5 minutes', '3125 min'],
    [6, 'six'],
    ['twenty-five percent', '25 %'],
    ['14 days', 'two weeks'],
    ['1.200 EUR', '1,200 EUR'],
    ['3.459 EUR', '3459 EUR'],
    ['3.459 USD', '$3.459'],
    ['1.234 EUR', '1.234 k EUR'],
    ['1.200 kg', '1.2 kg'],
  ]
  const other: readonly (readonly [Json, Json])[] = [
    ['PT90S', 'PT1M31S'],
    ['30 days', 'P1M'],
    ['P1M', 'PT1M'],
    ['PT', 'PT0S'],
    ['1 h 30 min', '1 h 31 min'],
    ['1 m 20 s', '1 m 20 cm'],
    ['30 min 1 h', '90 min'],
    ['4 K 2 C', '6 K'],
    [6, 'seven'],
    ['six kg', '6 g'],
    ['1.200 EUR', '1.2 EUR'],
    ['1.250 EUR', '1.25 EUR'],
    ['3.459 EUR', '3.46 EUR'],
  ]
  for (const [a, b] of same) {
    assert.equal(facts({ of: a }, { of: b }), [], `${a} ${b}`)
    assert.equal(facts({ of: b }, { of: a }), [], `${b} ${a}`)
  }
  for (const [a, b] of other) {
    assert.equal(facts({ of: a }, { of: b }), ['contradicted /facts/of'], `${a} ${b}`)
    assert.equal(facts({ of: b }, { of: a }), ['contradicted /facts/of'], `${b} ${a}`)
  }
  assert.equal(facts({ price_eur: 1200 }, { price_eur: '1.200' }), [])
  assert.is(facts({ price_eur: 1.2 }, { price_eur: '1.200' }).length, 1)
})

test('clocks and counters may rise, not fall; a limit is no counter (JUD-11)', () => {
  for (const [key, before, after] of [
    ['attempts', 1, 2],
    ['retry_count', 0, 1],
    ['last_seen', '2025-01-01', '2025-01-02'],
    ['updatedAt', '2025-01-01T00:00:00Z', '2025-01-01T00:00:00.5Z'],
    ['tokens_spent', '1,200', '1,300'],
  ] as const) {
    assert.equal(facts({ [key]: before }, { [key]: after }), [], key)
    assert.equal(facts({ [key]: after }, { [key]: before }), [`contradicted /facts/${key}`], key)
  }
  assert.is(facts({ max_attempts: 1 }, { max_attempts: 2 }).length, 1)
  assert.is(facts({ last_name: 'a' }, { last_name: 'b' }).length, 1)
})

test('members are known by what is declared, else by id, key, name, usual keys and pairs (JUD-12)', () => {
  const two = (key: string) => [
    { [key]: 'A', n: 1 },
    { [key]: 'B', n: 2 },
  ]
  for (const key of ['id', 'key', 'name', 'sku', 'ref', 'facts_id', 'vendor', 'call_id']) {
    assert.equal(facts(two(key), two(key).reverse()), [])
    const [first, second] = two(key)
    assert.equal(facts(two(key), [second as Json, { ...first, n: 3 }]), ['contradicted /facts/0/n'], key)
  }
  const legs = [
    { flight_number: 'X1', date: '2025-01-01', price: 1 },
    { flight_number: 'X1', date: '2025-01-02', price: 2 },
  ]
  assert.equal(facts(legs, legs.toReversed()), [])
  const declared = { lists: { '/facts': { key: ['a', 'b'] } } }
  const pairs = [
    { a: 1, b: 1, n: 1 },
    { a: 1, b: 2, n: 2 },
  ]
  assert.equal(
    facts(
      pairs,
      [
        { a: 1, b: 2, n: 2 },
        { a: 1, b: 1, n: 5 },
      ],
      declared,
    ),
    ['contradicted /facts/0/n'],
  )
})

test('one identity twice is an error where the two do not agree, and no matter where they do (JUD-13)', () => {
  const one = [{ id: 'a', n: 1 }]
  assert.equal(facts(one, [...one, { id: 'a', n: 2 }]), ['duplicate-identity /facts/1'])
  assert.equal(facts(one, [...one, { id: 'a', n: 1, more: true }]), [])
  const paid = [{ payment_id: 'card', amount: 5 }]
  assert.equal(
    found(judge({ payment_history: paid }, { payment_history: [...paid, { payment_id: 'card', amount: 7 }] })),
    [],
  )
})

test('equal scalars count, sentences and entities do not; numbers and keys that name an order keep it (JUD-14)', () => {
  assert.equal(facts(['x', 'x'], ['x']), ['contradicted /facts/1'])
  assert.equal(facts(['say it all twice', 'say it all twice'], ['say it all twice']), [])
  assert.equal(found(judge({ entities: ['A', 'a'] }, { entities: ['A'] })), [])
  assert.equal(facts([3, 1], [1, 3]), ['contradicted /facts'])
  assert.equal(facts([3, 1], [3, 2, 1]), [])
  assert.equal(facts({ steps: ['a', 'b'] }, { steps: ['b', 'a'] }), ['contradicted /facts/steps'])
  assert.equal(facts({ names: ['a', 'b'] }, { names: ['b', 'a'] }), [])
  assert.equal(facts([3, 1], [1, 3], { lists: { '/facts': 'bag' } }), [])
  assert.equal(facts(['x', 'x'], ['x'], { lists: { '/facts': 'set' } }), [])
  assert.equal(facts(['a', 'b'], ['b', 'a'], { lists: { '/facts': 'sequence' } }), ['contradicted /facts'])
})

test('a changed member is reported at the field that changed, its identity included (JUD-15)', () => {
  const flights = [
    { flight_number: 'X1', date: '2025-01-01', from: 'A', to: 'B' },
    { flight_number: 'X2', date: '2025-01-02', from: 'B', to: 'C' },
  ]
  const moved = [flights[0] as Json, { ...flights[1], date: '2025-01-03' }]
  assert.equal(facts(flights, moved), ['contradicted /facts/1/date'])
})

test('a second key that reads like an established one, with another value, is an error (JUD-17)', () => {
  for (const twin of ['Severity', 'severity_', 'sever ity', 'sеverity', 'severity\u200b', 'ｓeverity']) {
    assert.equal(facts({ severity: 2 }, { severity: 2, [twin]: 4 }), [`shadow-key /facts/${twin}`], twin)
    assert.equal(facts({ severity: 2 }, { severity: 2, [twin]: 2 }), [], twin)
  }
  assert.equal(facts({ 'a-1-12': 1 }, { 'a-1-12': 1, 'a-11-2': 2 }), [])
  assert.equal(found(judge({ facts: { a: 1 } }, { facts: { a: 1 }, Facts: { a: 2 } })), ['shadow-key /Facts'])
})

test('a specific name said again with another value is an error where it is plainly about the same, a warning elsewhere (JUD-18)', () => {
  const before = { vat_rate: 0.19, order: { ref: 'R-77', cabin_class: 'economy' }, other: { grid_size: 4 } }
  const severity = (again: JsonObject, policy: Policy = 'default') => {
    const verdict = judge({ facts: before }, { facts: { ...before, again } }, policy)
    return verdict.findings.map((finding) => `${finding.rule} ${finding.severity}`)
  }
  assert.equal(severity({ vat_rate: 0.07 }), ['restated error'])
  assert.equal(severity({ ref: 'R-77', cabin_class: 'business' }), ['restated error'])
  assert.equal(severity({ grid_size: 5 }), ['restated warning'])
  assert.equal(severity({ grid_size: 5 }, { restated: 'reject' }), ['restated error'])
  assert.equal(severity({ grid_size: 5 }, { restated: 'off' }), [])
  assert.equal(severity({ vat_rate: 0.07 }, { restated: 'warn' }), ['restated warning'])
  assert.equal(severity({ vat_rate: 0.07, as_of: '2026-01-01' }), [])
  assert.equal(severity({ vat_rate: 0.19 }), [])
  // A word that says what kind of value it is names no thing: the state of a review is not that of the order.
  const order = { ref: 'R-77', status: 'open', total: 12 }
  const review = { ref: 'R-77', status: 'passed', total: 3 }
  assert.equal(found(judge({ facts: { order } }, { facts: { order, review } })), [])
})

test('a supersession covers what lies below it, is listed with what it covered, and costs confidence (JUD-27)', () => {
  const before = { facts: { price: { value: 5, currency: 'EUR' }, size: 1, colour: 'red', weight: 2 } }
  const after = { facts: { price: { value: 6, currency: 'USD' }, size: 1, colour: 'red', weight: 2 } }
  const supersedes = [{ path: '/facts/price', reason: 'a new quote' }]
  const verdict = judge(before, after, 'default', { supersedes })
  assert.equal(found(verdict), ['superseded /facts/price/currency', 'superseded /facts/price/value'])
  assert.equal([verdict.verdict, verdict.confidence], ['accept', 0.6])
  assert.ok(verdict.findings.every(({ severity }) => severity === 'info'))
  const blank = judge(before, after, 'default', { supersedes: [{ path: '/facts/price', reason: ' \u200b' }] })
  assert.is(blank.verdict, 'reject')
  const all = judge(before, after, 'default', { supersedes: [{ path: '/facts', reason: 'all is new' }] })
  assert.ok(found(all).includes('supersedes-invalid /facts'))
})

test('what may be superseded comes with a ready entry for it', () => {
  const [finding] = judge({ facts: { a: 1 } }, { facts: { a: 2 } }).findings
  assert.equal(finding?.supersede, { path: '/facts/a', reason: '' })
  assert.equal([finding?.before, finding?.after], [1, 2])
})

test('a new total, count or product that the established does not give is an error', () => {
  const before = { items: [{ gross: 2 }, { gross: 3 }], payments: [{ amount: 4 }], line: { qty: 2, unit_price: 5 } }
  const with_ = (more: JsonObject, line: JsonObject = {}) =>
    facts(before, { ...before, line: { ...before.line, ...line }, ...more })
  assert.equal(with_({ items_total_gross: 5, item_count: 2, paid_in_total: 4 }, { line_total: 10 }), [])
  assert.equal(with_({ items_total_gross: 6 }), ['total-disagrees /facts/items_total_gross'])
  assert.equal(with_({ item_count: 3 }), ['total-disagrees /facts/item_count'])
  assert.equal(with_({ paid_in_total: 5 }), ['total-disagrees /facts/paid_in_total'])
  assert.equal(with_({}, { line_total: 11 }), ['total-disagrees /facts/line/line_total'])
  assert.equal(with_({}, { line_total: 9, discount: 1 }), [])
})

test('the usual units convert, others are other texts; hundredths of money count', () => {
  const same: [Json, Json][] = [
    ['1.5 h', '90 min'],
    [
      { value: 1.5, unit: 'h' },
      { value: 90, unit: 'min' },
    ],
    [
      { amount: '12,50', currency: 'EUR' },
      { amount: 1250, currency: 'EUR cents' },
    ],
    ['$50', '$50.00'],
    ['2.3 million EUR', 'EUR 2,300,000'],
    ['10.04.2025', '2025-04-10'],
    ['Thu, 10 Apr 2025', 'April 10, 2025'],
    ['2025-04-10T10:00:00+02:00', '2025-04-10 08:00 UTC'],
    ['5–7 days', '5-7 days'],
  ]
  const other: [Json, Json][] = [
    ['05/06/2025', '2025-06-05'],
    ['12 kg', '12 lb'],
    ['12 EUR', '12 USD'],
    ['9000000000.01', '9000000000.02'],
    [12345678901, 12345678902],
    ['2.10.1', '2.1.1'],
    [true, 'true'],
    ['12 mg', '12 Mg'],
  ]
  for (const [a, b] of same) assert.equal(facts({ a }, { a: b }), [], JSON.stringify([a, b]))
  for (const [a, b] of other) assert.is(facts({ a }, { a: b }).length >= 1, true, JSON.stringify([a, b]))
  assert.equal(facts({ weight_kg: 12 }, { weight_kg: '12,000 g' }), [])
  assert.equal(facts({ version: '3.10' }, { version: '3.1' }), ['contradicted /facts/version'])
})

test.run()
