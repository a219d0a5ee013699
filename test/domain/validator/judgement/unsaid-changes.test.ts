import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { evidenceOfLine } from '../../../../src/domain/validator/line-evidence.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'

const test = suite('judgement: changes that nothing may let pass in silence')

/** `severity rule path` of each finding, under the default policy. */
function said(before: JsonObject, after: JsonObject, evidence: readonly Json[] = []): readonly string[] {
  const verdict = validateHandoff({ before, after, policy: resolvePolicy(), evidence: evidenceOfLine(evidence) })
  return verdict.findings.map(({ severity, rule, path }) => `${severity} ${rule} ${path}`)
}

const ORDER = { order_id: 'A-1001', city: 'Basel' }
const orders = (city: string): JsonObject => ({ facts: { orders: [{ ...ORDER, city }] } })

/** What is said of a new city that this answer gave. */
function afterAnswer(result: Json, tool = 'update_order', args: Json = ORDER): readonly string[] {
  return said(orders('Bern'), orders('Basel'), [{ tool, args, result }])
}

const REFUSED = ['error contradicted /facts/orders/0/city']
const MOVED = ['info moved-by-tool /facts/orders/0/city']

test('A601 an answer that says it failed, or that it only tried, moves nothing, whatever it holds (JUD-111)', () => {
  const failed: readonly JsonObject[] = [
    ...['ok', 'okay', 'success', 'succeeded', 'successful', 'isSuccess'].map((key) => ({ [key]: false })),
    ...['isError', 'is_error', 'failed', 'dry_run', 'dryRun', 'simulated', 'simulation'].map((key) => ({
      [key]: true,
    })),
    ...[{ error: 'not the owner' }, { error: { code: 4 } }, { errors: ['a'] }, { errors: { a: 1 } }, { errors: true }],
    ...['statusCode', 'status_code', 'httpStatus', 'http_status_code'].map((key) => ({ [key]: 403 })),
  ]
  for (const sign of failed) {
    assert.equal(afterAnswer({ ...ORDER, ...sign }), REFUSED, JSON.stringify(sign))
    assert.equal(afterAnswer({ ...sign, requested: ORDER }), REFUSED, JSON.stringify(sign))
    const text = JSON.stringify({ ...ORDER, ...sign })
    assert.equal(afterAnswer({ content: [{ type: 'text', text }] }), REFUSED, text)
  }
  assert.equal(afterAnswer(ORDER, 'update_order', { ...ORDER, dry_run: true }), REFUSED)
  for (const sign of [
    { ok: true },
    { error: null },
    { errors: [] },
    { error: '' },
    { statusCode: 200 },
    { dry_run: false },
  ])
    assert.equal(afterAnswer({ ...ORDER, ...sign }), MOVED, JSON.stringify(sign))
})

test('A602 a state that failed says so of the call where the tool does more than read (JUD-111)', () => {
  const signs: readonly JsonObject[] = [
    ...['failed', 'failure', 'error', 'errored', 'rejected', 'denied', 'forbidden', 'unauthorized'].map((status) => ({
      status,
    })),
    ...['state', 'outcome', 'result'].map((key) => ({ [key]: 'Failed' })),
    ...['accepted', 'applied', 'saved', 'updated'].map((key) => ({ [key]: false })),
    { status: 409 },
  ]
  const readers =
    'get list read fetch show find search check query lookup look describe view poll watch load retrieve inspect count track'
  for (const sign of signs) {
    const answer = { ...ORDER, ...sign }
    assert.equal(afterAnswer(answer), REFUSED, JSON.stringify(sign))
    for (const reader of [...readers.split(' ').map((verb) => `${verb}_order`), 'order_status', 'order_state'])
      assert.equal(afterAnswer(answer, reader), MOVED, `${reader} ${JSON.stringify(sign)}`)
  }
})

test('A603 an action is handed over as done although the answer says, in any of these ways, that it failed (JUD-21, JUD-111)', () => {
  const actions = (status: string): JsonObject => ({ actions: [{ tool: 'rotate_keys', status }] })
  for (const result of [
    { ok: false },
    { success: false },
    { errors: ['no'] },
    { status: 'failed' },
    { statusCode: 503 },
  ])
    assert.equal(said(actions('open'), actions('done'), [{ tool: 'rotate_keys', args: {}, result }]), [
      'warning disagrees-with-tool /actions/0/status',
    ])
})

const LOG = [{ note: 'seen' }]
const grown = (was: JsonObject, is: JsonObject, more: Json = { note: 'again' }): readonly string[] =>
  said({ ward: { ...was, log: LOG } }, { ward: { ...is, log: [...LOG, more] } })

test('A604 a list that grew explains a number that its new members hold, or the difference to it, and no other (JUD-43, JUD-112)', () => {
  assert.equal(grown({ level: 40 }, { level: 31 }, { level: 31 }), [])
  assert.equal(grown({ received_gb: 3.2 }, { received_gb: 5.1 }, { pass: { gb: 1.9 } }), [])
  for (const more of ['a text', { note: 'again' }, { level: 32 }])
    assert.equal(grown({ level: 40 }, { level: 31 }, more), ['warning contradicted /ward/level'])
  const facts = said({ facts: { rate: 5, log: LOG } }, { facts: { rate: 6, log: [...LOG, 'x'] } })
  assert.equal(facts, ['error contradicted /facts/rate'])
})

test('A605 neither a list nor a clock beside explains a code, a limit, a turned sign, or a tenfold number (JUD-43, JUD-112)', () => {
  const at = (hour: string): JsonObject => ({ updated_at: `2026-05-01T${hour}:00:00Z` })
  const later = (key: string, before: number, after: number): readonly string[] =>
    said({ ward: { [key]: before, ...at('08') } }, { ward: { [key]: after, ...at('09') } })
  assert.equal(later('level', 31, 29), [])
  assert.equal(later('level', 0, 400), [])
  assert.equal(later('delay_min', 4, 7), [], 'minutes are no minimum')
  for (const [key, before, after] of [
    ['id', 771, 772],
    ['account', 771, 772],
    ['patient_no', 771, 772],
    ['max_rate', 60, 80],
    ['tolerance_delta_e', 0.8, 1.8],
    ['lat', 44, -44],
    ['units_per_h', 1200, 12_000],
    ['units_per_h', 12_000, 1200],
  ] as const) {
    assert.equal(later(key, before, after), [`warning contradicted /ward/${key}`])
    assert.equal(grown({ [key]: before }, { [key]: after }, { [key]: after }), [`warning contradicted /ward/${key}`])
  }
})

const renamed = (from: string, to: string, value: Json): readonly string[] =>
  said({ facts: { [from]: value, hall: 'Gate', no: 'G-1' } }, { facts: { [to]: value, hall: 'Gate', no: 'G-1' } })

test('A606 a new key that means the opposite, or shares no telling word, is no new name of what stood there (JUD-41, JUD-113)', () => {
  for (const [from, to, value] of [
    ['max_dose', 'min_dose', 80],
    ['approved_by', 'rejected_by', 'Ada Kern'],
    ['allowed', 'forbidden', 'hand luggage'],
    ['must_have', 'must_not_have', 'a helmet'],
    ['buyer', 'seller', 'Ada Kern'],
    ['left_eye', 'right_eye', '-1.75 dpt'],
    ['paid_by', 'unpaid_by', 'Ada Kern'],
    ['allergies', 'favourites', ['hazelnuts']],
    ['owner', 'held_by', 'Ada Kern'],
    ['price_net', 'price_total', 410],
  ] as const)
    assert.ok(renamed(from, to, value as Json).includes(`error contradicted /facts/${from}`), `${from} ${to}`)
  for (const [from, to, value] of [
    ['owner', 'owner_name', 'Ada Kern'],
    ['counterparty', 'other_party', 'Ada Kern'],
    ['contact_person', 'person_of_contact', 'Ada Kern'],
    ['seats', 'seats_total', 410],
  ] as const)
    assert.equal(renamed(from, to, value), [], `${from} ${to}`)
})

test('A607 a number that stays while the unit in its key changes is another quantity (JUD-91, JUD-113)', () => {
  for (const pair of [
    'max_kmh max_mph',
    'speed_kn speed_kmh',
    'pressure_psi pressure_bar',
    'min_release_m3s min_release_l_s',
    'energy_kcal energy_kj',
    'load_n load_kn',
    'tilt_deg tilt_rad',
    'dose_mg dose_g',
  ]) {
    const [from, to] = pair.split(' ') as [string, string]
    assert.equal(renamed(from, to, 80), [`error contradicted /facts/${from}`], pair)
  }
  assert.equal(said({ facts: { dose_mg: 80 } }, { facts: { dose_g: 0.08 } }), [])
})

test('A608 an answer moves the row whose own identity key its call named, whatever that key and its list are called (JUD-80, JUD-114)', () => {
  const rows = (key: string, id: Json, v: string): JsonObject => ({
    facts: {
      hosts: [
        { [key]: id, v },
        { [key]: 'other', v: '4.9' },
      ],
    },
  })
  const moved = (key: string, id: Json, call: { readonly args?: Json; readonly result?: Json } = {}) => {
    const evidence = { tool: 'deploy', args: { [key]: id }, result: { [key]: id, v: '4.10' }, ...call }
    return said(rows(key, id, '4.9'), rows(key, id, '4.10'), [evidence])
  }
  for (const [key, id] of [
    ['id', 1017],
    ['id', 'prod-eu'],
    ['name', 'North Hall'],
    ['host', 'web-03'],
    ['barcode', '3100928'],
    ['email', 'a@x.org'],
  ] as const) {
    assert.equal(moved(key, id), ['info moved-by-tool /facts/hosts/0/v'], key)
    for (const call of [
      { args: { page: 3 } },
      { args: { text: `about ${id}` } },
      { args: { [key]: 'other' } },
      { args: { other: id } },
    ])
      assert.equal(moved(key, id, call), ['error contradicted /facts/hosts/0/v'], JSON.stringify(call))
    assert.equal(moved(key, id, { result: { [key]: 'other', v: '4.10' } }), ['error contradicted /facts/hosts/0/v'])
  }
  // Two rows of the context go by that name: it is unclear which of them was meant.
  const two = (v: string): JsonObject => ({ halls: [{ id: 7, v }], lifts: [{ id: 7, v: '4.9' }] })
  const answer = { tool: 'deploy', args: { id: 7 }, result: { id: 7, v: '4.10' } }
  assert.equal(said(two('4.9'), two('4.10'), [answer]), ['warning contradicted /halls/0/v'])
})

test('A609 a member that leaves a list for the list of finished work beside it has moved, to no other list, and once (JUD-41, JUD-115)', () => {
  const [one, two] = [
    { id: 'P-1', to: 'Bern' },
    { id: 'P-2', to: 'Chur' },
  ]
  const lists = (from: string, left: Json, to: string, done: Json): JsonObject => ({
    facts: { [from]: left, [to]: done },
  })
  for (const [from, to] of [
    ['steps_left', 'steps_done'],
    ['queue', 'delivered'],
    ['todo', 'completed_items'],
  ] as const) {
    assert.equal(said(lists(from, ['weigh', 'cook'], to, []), lists(from, ['cook'], to, ['weigh'])), [], to)
    assert.equal(said(lists(from, [one, two], to, []), lists(from, [two], to, [{ ...one, by: 'Ada' }])), [], to)
    const gone = [`error contradicted /facts/${from}/0`]
    assert.equal(said(lists(from, ['weigh', 'cook'], to, []), lists(from, ['cook'], to, ['wash'])), gone)
    assert.equal(said(lists(from, ['weigh', 'cook'], to, ['weigh']), lists(from, ['cook'], to, ['weigh'])), gone)
    assert.equal(said(lists(from, [one, two], to, []), lists(from, [two], to, [{ ...one, to: 'Genf' }])), gone)
  }
  const banned = said(lists('allowed', ['Ada', 'Bob'], 'banned', []), lists('allowed', ['Bob'], 'banned', ['Ada']))
  assert.equal(banned, ['error contradicted /facts/allowed/0'])
})

test.run()
