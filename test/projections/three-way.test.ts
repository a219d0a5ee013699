import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { applyMode } from '../../projections/merge.ts'
import { setText, setTextsOf } from '../../projections/set-text.ts'
import { unionOf } from '../../projections/three-way.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { isEqual } from '../../schemas/json.ts'
import { DEFAULT_CRITICAL_KEYS } from '../../schemas/value-forms.ts'

const test = suite('the union of branches')

const extend = (frozen: JsonObject, payload: JsonObject): JsonObject =>
  applyMode({ context: frozen, payload, mode: 'extend', policy: { criticalKeys: DEFAULT_CRITICAL_KEYS } })

const union = (frozen: JsonObject, payloads: Readonly<Record<string, JsonObject>>) =>
  unionOf({
    frozen,
    contexts: Object.entries(payloads).map(([branch, payload]) => ({ branch, context: extend(frozen, payload) })),
    policy: { criticalKeys: DEFAULT_CRITICAL_KEYS },
  })

function merged(frozen: JsonObject, payloads: Readonly<Record<string, JsonObject>>): JsonObject {
  const came = union(frozen, payloads)
  if (!came.ok) throw new Error(JSON.stringify(came.conflicts))
  return came.context
}

test('what one branch changed and the others left alone is taken', () => {
  const frozen = { facts: ['old'], title: 'draft', meta: { lang: 'en' } }
  const payloads = { a: { facts: ['new'] }, b: { title: 'final' }, c: { meta: { pages: 3 } } }
  assert.equal(merged(frozen, payloads), { facts: ['old', 'new'], title: 'final', meta: { lang: 'en', pages: 3 } })
})

test('lists under critical keys are united by their members, which are extended where several branches know them', () => {
  const frozen = { entities: [{ id: 1, name: 'Acme' }] }
  const a = {
    entities: [
      { id: 1, city: 'Bonn' },
      { id: 2, name: 'Beta' },
    ],
  }
  const b = {
    entities: [
      { id: 2, city: 'Kiel' },
      { id: 1, founded: 1999 },
    ],
  }
  assert.equal(merged(frozen, { a, b }), {
    entities: [
      { id: 1, name: 'Acme', city: 'Bonn', founded: 1999 },
      { id: 2, name: 'Beta', city: 'Kiel' },
    ],
  })
})

test('two branches that change one value differently conflict: place, both values and both branches are named (RUN-38)', () => {
  const frozen = { plan: { price: 1, terms: 'x' } }
  const came = union(frozen, { a: { plan: { price: 2 } }, b: { plan: { terms: 'y' } }, c: { plan: { price: 3 } } })
  assert.equal(came, {
    ok: false,
    conflicts: [
      {
        path: ['plan', 'price'],
        frozen: 1,
        ours: { branch: 'a', value: 2 },
        theirs: { branch: 'c', value: 3 },
      },
    ],
  })
})

test('the same change made twice is no conflict; a list that is one value is', () => {
  assert.equal(merged({}, { a: { x: [1] }, b: { x: [1] } }), { x: [1] })
  assert.is(union({}, { a: { x: [1] }, b: { x: [2] } }).ok, false)
  assert.is(union({ x: {} }, { a: { x: 1 }, b: { x: { y: 1 } } }).ok, false)
})

test('a member called __proto__ is a member like any other', () => {
  const hostile = JSON.parse('{"__proto__": {"polluted": true}}') as JsonObject
  const context = merged({}, { a: hostile, b: { x: 1 } })
  assert.ok(Object.hasOwn(context, '__proto__'))
  assert.is((context as { polluted?: unknown }).polluted, undefined)
})

const leaf = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom('a', 'b'), fc.boolean(), fc.constant(null))
const member = fc.oneof(leaf, fc.record({ id: fc.nat(3), v: leaf }, { requiredKeys: ['id'], noNullPrototype: true }))
const listOf = fc.uniqueArray(member, {
  maxLength: 4,
  selector: (m) => JSON.stringify(typeof m === 'object' && m !== null ? m.id : m),
})
const payload = fc.dictionary(
  fc.constantFrom('facts', 'entities', 'title', 'meta'),
  fc.oneof(
    leaf,
    listOf,
    fc.dictionary(fc.constantFrom('p', 'q'), fc.oneof(leaf, listOf), { maxKeys: 2, noNullPrototype: true }),
  ),
  { maxKeys: 3, noNullPrototype: true },
) as fc.Arbitrary<JsonObject>

/** Equal as the validator sees them: lists under critical keys are sets. */
function sameAsSets(a: JsonObject, b: JsonObject): boolean {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...keys].every((key) => {
    const [x, y] = [a[key], b[key]]
    if (x === undefined || y === undefined) return false
    if (!DEFAULT_CRITICAL_KEYS.includes(key)) return isEqual(x, y)
    return setText(x, setTextsOf(key)) === setText(y, setTextsOf(key))
  })
}

test('one branch alone, and a branch that changes nothing, leave what extend made', () => {
  fc.assert(
    fc.property(payload, payload, (frozen, change) => {
      assert.equal(merged(frozen, { a: change }), extend(frozen, change))
      assert.equal(merged(frozen, { idle: {}, a: change, late: {} }), extend(frozen, change))
    }),
    { numRuns: 400 },
  )
})

test('two branches unite or conflict whichever comes first, and a union holds what each of them made', () => {
  fc.assert(
    fc.property(payload, payload, payload, (frozen, a, b) => {
      const [one, other] = [union(frozen, { a, b }), union(frozen, { b, a })]
      assert.is(one.ok, other.ok)
      if (!one.ok || !other.ok) return
      assert.ok(sameAsSets(one.context, other.context))
      for (const key of Object.keys({ ...a, ...b })) assert.ok(Object.hasOwn(one.context, key))
    }),
    { numRuns: 400 },
  )
})

test.run()
