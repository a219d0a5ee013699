import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import type { Policy } from '../../../../schemas/policy.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'

const test = suite('judgement: rows, decisions and groups of digits')

/** `rule path` of each finding, for a value under `facts`. */
function facts(before: Json, after: Json, policy: Policy = 'default'): string[] {
  const handoff: { before: JsonObject; after: JsonObject } = { before: { facts: before }, after: { facts: after } }
  return validateHandoff({ ...handoff, policy: resolvePolicy(policy) }).findings.map(
    ({ rule, path }) => `${rule} ${path}`,
  )
}

test('a position inside a list is not another one with its numbers swapped (JUD-14)', () => {
  const places = [
    [13.4, 52.5],
    [2.4, 48.9],
  ]
  assert.equal(facts(places, [[52.5, 13.4], places[1] as Json]), ['contradicted /facts/0'])
  assert.equal(facts([places], [[places[0] as Json, [48.9, 2.4]]]), ['contradicted /facts/0/1'])
  assert.equal(facts({ area: { ring: places } }, { area: { ring: places.toReversed() } }), [
    'contradicted /facts/area/ring',
  ])
  assert.equal(facts(places, [...places, [7.4, 46.9]]), [])
  assert.equal(facts(places, [places[0] as Json, [2.4, '48.9']]), [])
  assert.equal(facts(places, places.toReversed(), { lists: { '/facts': 'bag' } }), [])
})

test('a row of texts and numbers keeps its places; rows of texts alone, and rows among each other, need not (JUD-14)', () => {
  const rows = [
    ['Ada', 3, 1],
    ['Bo', 1, 3],
  ]
  assert.equal(facts(rows, [['Ada', 1, 3], rows[1] as Json]), ['contradicted /facts/0'])
  assert.equal(facts(rows, rows.toReversed()), [])
  assert.equal(facts([['Ada', 'Bo'], ['Cy']], [['Bo', 'Ada'], ['Cy']]), [])
  assert.equal(facts({ route: [['Bern', 'Basel']] }, { route: [['Basel', 'Bern']] }), ['contradicted /facts/route/0'])
  const legs = [['Bern'], ['Basel', 'Chur']]
  assert.equal(facts({ route: legs }, { route: legs.toReversed() }), ['contradicted /facts/route'])
})

test('a decision is not taken back by its negation; what was not decided may turn out so (JUD-10)', () => {
  const taken = ['not approved', 'No longer valid', 'unconfirmed', 'non-accepted', 'invalid']
  for (const after of taken) {
    for (const before of ['approved', 'confirmed', 'done'])
      assert.equal(facts({ status: before }, { status: after }), ['contradicted /facts/status'], `${before} ${after}`)
    for (const before of ['pending', 'under review'])
      assert.equal(facts({ status: before }, { status: after }), [], `${before} ${after}`)
  }
  for (const after of ['not shipped', 'not completed', 'unpacked', 'indexed'])
    assert.equal(facts({ status: 'approved' }, { status: after }), [], after)
  assert.equal(facts({ status: 'not approved' }, { status: 'approved' }), [])
})

test('digits in groups of two above the thousands are a number (JUD-7)', () => {
  for (const [a, b] of [
    [1234567, '12,34,567'],
    ['₹ 1,00,000.50', '100000.50 INR'],
  ])
    assert.equal(facts({ of: a as Json }, { of: b as Json }), [], `${a} ${b}`)
  assert.equal(facts({ of: 1234567 }, { of: '12,34,568' }), ['contradicted /facts/of'])
  assert.equal(facts({ of: 1234567 }, { of: '12,345,67' }), ['contradicted /facts/of'])
})

test.run()
