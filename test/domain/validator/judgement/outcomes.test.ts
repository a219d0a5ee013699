import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { type Policy, PolicyObject } from '../../../../schemas/policy.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { addToolResult, type Evidence, emptyEvidence } from '../../../../src/domain/validator/evidence.ts'
import { underTenantPolicy } from '../../../../src/domain/validator/policy/with-tenant.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'
import { ALL_SETS } from './all-sets.ts'
import { brokenSteps, innocentSteps, spoiltSteps } from './bookkeeping/steps.ts'
import { judgeLabelled } from './confusion.ts'
import { figuresOf } from './outcomes.ts'

const test = suite('judgement: explained, suspect, certain')

function judge(before: Json, after: Json, policy: Policy = 'default', evidence?: Evidence) {
  const documents = { before: before as JsonObject, after: after as JsonObject }
  return validateHandoff({
    ...documents,
    policy: resolvePolicy(policy),
    ...(evidence === undefined ? {} : { evidence }),
  })
}

/** The verdict, and `severity rule path` of each finding with what is said of it. */
function said(...handoff: Parameters<typeof judge>): readonly string[] {
  const { verdict, findings } = judge(...handoff)
  const lines = findings.map(({ severity, rule, path, suspect, wouldRefuse }) =>
    [severity, rule, path, suspect && 'suspect', wouldRefuse && 'would refuse'].filter(Boolean).join(' '),
  )
  return [verdict, ...lines]
}

const [QTY_6, QTY_5] = [{ order: { qty: 6 } }, { order: { qty: 5 } }]

test('an unexplained change that nothing is certain of is accepted with a warning, refused under "refuse" (JUD-38)', () => {
  assert.equal(said(QTY_6, QTY_5), ['accept', 'warning contradicted /order/qty suspect'])
  assert.equal(said(QTY_6, {}), ['accept', 'warning contradicted /order suspect'])
  assert.equal(said(QTY_6, QTY_5, { suspect: 'refuse' }), ['reject', 'error contradicted /order/qty suspect'])
  const [finding] = judge(QTY_6, QTY_5).findings
  assert.equal(finding?.supersede, { path: '/order/qty', reason: '' })
})

test('certain is what a critical key holds, what a policy names, and a handoff that contradicts itself (JUD-39)', () => {
  const refused = 'error contradicted /order/qty'
  for (const policy of [
    { criticalKeys: ['order'] },
    { protect: ['order'] },
    { monotonic: { '/order/qty': 'up' } },
    { tolerance: { '/order/qty': { absolute: 0.5 } } },
    { supersede: { never: ['/order/qty'] } },
  ] satisfies Policy[]) {
    assert.equal(said(QTY_6, QTY_5, policy), ['reject', refused], JSON.stringify(policy))
  }
  assert.equal(said(QTY_6, QTY_5, { immutable: ['/order'] }), ['reject', 'error immutable /order/qty'])
  assert.equal(said({ facts: QTY_6 }, { facts: QTY_5 }), ['reject', 'error contradicted /facts/order/qty'])
  assert.equal(said({ rows: ['b', 'a'] }, { rows: ['a', 'b'] }, { lists: { '/rows': 'sequence' } }), [
    'reject',
    'error contradicted /rows',
  ])
  const rows = [{ id: 'a', n: 10 }]
  assert.is(said({ rows }, { rows: [...rows, { id: 'a', n: 11 }] })[1], 'error duplicate-identity /rows/1')
  assert.is(said({ size: 10 }, { size: 10, Size: 11 })[1], 'error shadow-key /Size')
})

const ORDER = { order_id: 'A-1001', city: 'Bern', total: 120 }
const answered = (...results: Json[]): Evidence =>
  results.reduce<Evidence>(
    (evidence, value, i) => addToolResult(evidence, { value, revision: i + 1, bytes: 1 }),
    emptyEvidence(),
  )

test('certain is what a tool answered for this place, where no tool answered the new value (JUD-39)', () => {
  const after = { orders: [{ ...ORDER, city: 'Basel' }] }
  const before = { orders: [ORDER] }
  const changed = (evidence: Evidence): readonly string[] => said(before, after, 'default', evidence)
  assert.ok(changed(answered(ORDER)).includes('error contradicted /orders/0/city'))
  assert.is(changed(answered({ ...ORDER, order_id: 'B-2002' }))[0], 'accept')
  assert.is(changed(answered({ city: 'Bern' }))[0], 'accept')
  assert.is(changed(answered({ ...ORDER, city: 'Chur' }))[0], 'accept')
  assert.is(changed(answered(ORDER, { ...ORDER, city: 'Basel' }))[0], 'accept')
  const { city: _, ...rest } = ORDER
  assert.ok(said(before, { orders: [rest] }, 'default', answered(ORDER)).includes('error contradicted /orders/0/city'))
})

test('under enforce "record" nothing is refused, and each finding that would refuse says so (JUD-40)', () => {
  const record = { enforce: 'record' } as const
  const finding = 'warning contradicted /facts/a would refuse'
  assert.equal(said({ facts: { a: 10 } }, { facts: { a: 11 } }, record), ['accept', finding])
  assert.equal(said(QTY_6, QTY_5, { ...record, suspect: 'refuse' }), [
    'accept',
    'warning contradicted /order/qty suspect would refuse',
  ])
  assert.equal(said(QTY_6, QTY_5, record), ['accept', 'warning contradicted /order/qty suspect'])
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`f${i}`, i]))
  const { verdict, findings, findingsTotal } = judge({ facts: many }, { facts: {} }, record)
  assert.equal([verdict, findings.length, findingsTotal], ['accept', 100, 300])
})

test('more suspects than are kept refuse nothing, and a certain one behind them does (JUD-38)', () => {
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`f${i}`, i]))
  assert.is(judge({ board: many }, { board: {} }).verdict, 'accept')
  assert.is(judge({ board: many, facts: { z: 1 } }, { board: {}, facts: {} }).verdict, 'reject')
})

test('an error is among the findings however many warnings came before it, so that a record says what would have been refused (JUD-102)', () => {
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`f${i}`, i]))
  const [before, after] = [
    { board: many, facts: { z: 1 } },
    { board: {}, facts: { z: 2 } },
  ]
  const refused = judge(before, after)
  assert.equal([refused.verdict, refused.findings.length, refused.findingsTotal], ['reject', 100, 301])
  assert.equal(
    refused.findings.filter(({ severity }) => severity === 'error').map(({ path }) => path),
    ['/facts/z'],
  )
  const recorded = judge(before, after, { enforce: 'record' })
  assert.equal(
    recorded.findings.filter(({ wouldRefuse }) => wouldRefuse).map(({ path }) => path),
    ['/facts/z'],
  )
  assert.equal([recorded.suspectsTotal, recorded.confidence], [refused.suspectsTotal, refused.confidence])
})

test('over all sets a policy that records accepts all, with the confidence that the refusing one has, and marks just what that refuses (JUD-102)', () => {
  let marked = 0
  for (const labelled of [...ALL_SETS.values()].flat()) {
    for (const suspect of ['record', 'refuse'] as const) {
      const refusing = judgeLabelled(labelled, resolvePolicy({ suspect }))
      const recording = judgeLabelled(labelled, resolvePolicy({ suspect, enforce: 'record' }))
      const wouldRefuse = recording.findings.some((finding) => finding.wouldRefuse === true)
      assert.equal([recording.verdict, wouldRefuse], ['accept', refusing.verdict === 'reject'], labelled.why)
      assert.equal([recording.confidence, recording.diff], [refusing.confidence, refusing.diff], labelled.why)
      if (wouldRefuse) marked += 1
    }
  }
  assert.ok(marked > 1000, `${marked}`)
})

test('a run recorded before there were suspects is judged as it began: what is unexplained is refused (JUD-38)', () => {
  const { suspect: _, ...recorded } = resolvePolicy()
  const { verdict, findings } = validateHandoff({ before: QTY_6, after: QTY_5, policy: recorded })
  assert.equal([verdict, findings[0]?.severity, findings[0]?.suspect], ['reject', 'error', undefined])
})

test('of tenant and run the stricter word counts: to refuse is stricter than to hold, and that than to record (JUD-40, JUD-65)', () => {
  const both = underTenantPolicy({ suspect: 'record', enforce: 'record' }, PolicyObject.parse({ suspect: 'refuse' }))
  assert.ok(both.ok)
  assert.equal([both.policy.suspect, both.policy.enforce], ['refuse', 'record'])
  const [record, hold, refuse] = ['record', 'hold', 'refuse'] as const
  for (const [run, tenant, expected] of [
    [record, hold, hold],
    [hold, record, hold],
    [hold, refuse, refuse],
  ] as const) {
    const merged = underTenantPolicy({ suspect: run }, PolicyObject.parse({ suspect: tenant }))
    assert.is(merged.ok && merged.policy.suspect, expected)
  }
})

const strict = { suspect: 'refuse' } as const
const verdictOf = (before: Json, after: Json): string => judge(before, after, strict).verdict

test('what is gone from one place and stands at another has moved: renamed, converted, nested otherwise, a map as a list, said once (JUD-41)', () => {
  const innocent: readonly (readonly [why: string, before: Json, after: Json])[] = [
    [
      'renamed',
      { contract: { counterparty: 'Brightwater', no: 1 } },
      { contract: { other_party: 'Brightwater', no: 1 } },
    ],
    ['another unit', { limits: { max_open_mw: 150 } }, { limits: { max_open_gw: 0.15 } }],
    ['a clock in seconds', { clock: { black: '01:05:02' } }, { clock: { black_seconds: 3902 } }],
    ['months and years', { lease: { term_months: 36 } }, { lease: { term_years: 3 } }],
    ['deeper', { site: { owner: 'Ada', area: 77 } }, { site: { owner: 'Ada', size: { area: 77 } } }],
    [
      'a map as a list',
      { services: { gw: { v: '4.1' }, db: { v: '9.2' } } },
      {
        services: [
          { name: 'gw', v: '4.1' },
          { name: 'db', v: '9.2' },
        ],
      },
    ],
    [
      'regrouped',
      { texts: { title: { en: 'Pay', de: 'Zahlen' } } },
      { texts: { en: { title: 'Pay' }, de: { title: 'Zahlen' } } },
    ],
    [
      'said once',
      {
        list: [
          { id: 'F-1', n: 10 },
          { id: 'F-1', n: 10 },
        ],
      },
      { list: [{ id: 'F-1', n: 10 }] },
    ],
  ]
  const spoilt: readonly (readonly [why: string, before: Json, after: Json])[] = [
    [
      'renamed, with another value',
      { contract: { counterparty: 'Brightwater', no: 1 } },
      { contract: { other_party: 'Brightwood', no: 1 } },
    ],
    ['another unit, wrongly', { limits: { max_open_mw: 150 } }, { limits: { max_open_gw: 1.5 } }],
    ['a clock in seconds, wrongly', { clock: { black: '01:05:02' } }, { clock: { black_seconds: 3920 } }],
    [
      'a map as a list, swapped',
      { services: { gw: { v: '4.1' }, db: { v: '9.2' } } },
      {
        services: [
          { name: 'gw', v: '9.2' },
          { name: 'db', v: '4.1' },
        ],
      },
    ],
    [
      'regrouped, with one lost',
      { texts: { title: { en: 'Pay', de: 'Zahlen' } } },
      { texts: { en: { title: 'Pay' } } },
    ],
    ['two for one', { order: { min: 5, max: 5 } }, { order: { both: 5 } }],
    ['a switch', { site: { is_open: true } }, { site: { is_public: true } }],
    ['one of two alike that have no id', { lines: [{ price: 10 }, { price: 10 }] }, { lines: [{ price: 10 }] }],
  ]
  for (const [why, before, after] of innocent) assert.is(verdictOf(before, after), 'accept', why)
  for (const [why, before, after] of spoilt) assert.is(verdictOf(before, after), 'reject', why)
  const declared = { ...strict, immutable: ['/limits/max_open_mw'] }
  assert.is(judge({ limits: { max_open_mw: 150 } }, { limits: { max_open_gw: 0.15 } }, declared).verdict, 'reject')
})

test('a number that was, and is again, the sum, the count, the mean or the product of the same siblings is derived (JUD-42)', () => {
  const lines = [{ price: 40 }, { price: 60 }]
  const more = [...lines, { price: 51 }]
  assert.is(verdictOf({ bill: { lines, total: 100 } }, { bill: { lines: more, total: 151 } }), 'accept')
  assert.is(verdictOf({ bill: { lines, total: 100 } }, { bill: { lines: more, total: 115 } }), 'reject')
  assert.is(verdictOf({ bill: { lines, total: 100 } }, { bill: { lines, total: 101 } }), 'reject')
  assert.is(verdictOf({ bill: { lines, entries: 2 } }, { bill: { lines: more, entries: 3 } }), 'accept')
  assert.is(verdictOf({ bill: { lines, average: 50 } }, { bill: { lines: more, average: 50.33 } }), 'accept')
  assert.is(verdictOf({ bill: { lines, average: 50 } }, { bill: { lines: more, average: 53.33 } }), 'reject')
  const rows = (attempts: number, weight: number): Json => ({ batch: { attempts, each: 12, weight } })
  assert.is(verdictOf(rows(2, 24), rows(3, 36)), 'accept')
  assert.is(verdictOf(rows(2, 24), rows(3, 63)), 'reject')
  assert.is(verdictOf(rows(1, 12), rows(2, 24)), 'reject', 'an operand of 1 says nothing')
})

test('what is usual of an agent of its own books is accepted where nothing speaks against it, and never certain (JUD-43)', () => {
  const usual: readonly (readonly [before: Json, after: Json])[] = [
    [{ signed: false }, { signed: true }],
    [{ frames_inspected: 10 }, { frames_inspected: 20 }],
    [
      { level: 31, updated_at: '2026-05-01T08:00:00Z' },
      { level: 29, updated_at: '2026-05-01T09:00:00Z' },
    ],
    [
      { level: 31, readings: [31] },
      { level: 29, readings: [31, 29] },
    ],
    [
      { next: 'H-1', hives: [{ id: 'H-1' }, { id: 'H-2' }] },
      { next: 'H-2', hives: [{ id: 'H-1' }, { id: 'H-2' }] },
    ],
  ]
  const unusual: readonly (readonly [before: Json, after: Json])[] = [
    [{ signed: true }, { signed: false }],
    [{ do_not_resuscitate: false }, { do_not_resuscitate: true }],
    [{ frames_inspected: 20 }, { frames_inspected: 10 }],
    [{ max_steps: 10 }, { max_steps: 20 }],
    [
      { level: 31, updated_at: '2026-05-01T08:00:00Z' },
      { level: 29, updated_at: '2026-05-01T08:00:00Z' },
    ],
    [
      { level: 31, readings: [5] },
      { level: 29, readings: [5, 6] },
    ],
    [
      { level: 31, readings: [31] },
      { level: 29, readings: [30, 29] },
    ],
    [
      { next: 'H-1', hives: [{ id: 'H-1' }] },
      { next: 'H-2', hives: [{ id: 'H-1' }] },
    ],
    [
      { owner_id: 'H-1', hives: [{ id: 'H-1' }, { id: 'H-2' }] },
      { owner_id: 'H-2', hives: [{ id: 'H-1' }, { id: 'H-2' }] },
    ],
  ]
  for (const [before, after] of usual) {
    assert.equal(said({ books: before }, { books: after }, strict), ['accept'], JSON.stringify(after))
    assert.equal(
      judge({ facts: before }, { facts: after }).findings.map(({ suspect }) => suspect),
      [true],
    )
    assert.is(judge({ facts: before }, { facts: after }).verdict, 'accept')
  }
  for (const [before, after] of unusual)
    assert.is(verdictOf({ books: before }, { books: after }), 'reject', JSON.stringify(after))
})

test('a run of 25 steps whose agent keeps books of its own is never refused by default, and no spoilt step of it is silent (JUD-38)', () => {
  const policy = resolvePolicy()
  const byDomain = ({ domain }: { readonly domain: string }): string => domain
  const [innocent, spoilt, broken] = [innocentSteps, spoiltSteps, brokenSteps].map((set) =>
    figuresOf(set, policy, byDomain),
  )
  assert.equal([innocent?.innocent.of, innocent?.innocent.refused], [250, 0])
  assert.equal([spoilt?.spoilt.of, spoilt?.spoilt.silent], [220, 0])
  assert.equal([broken?.spoilt.of, broken?.spoilt.silent], [220, 0])
})

test.run()
