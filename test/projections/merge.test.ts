import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { applyMode, mergePatch } from '../../projections/merge.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { DEFAULT_CRITICAL_KEYS } from '../../schemas/value-forms.ts'
import { context } from '../domain/validator/contexts.ts'

const test = suite('modes of a handoff')

const modeOf = (mode: 'replace' | 'merge' | 'extend') => (context: JsonObject, payload: JsonObject) =>
  applyMode({ context, payload, mode, policy: { criticalKeys: DEFAULT_CRITICAL_KEYS } })
const extend = modeOf('extend')
const merge = modeOf('merge')

// RFC 7396, appendix A.
const RFC_7396: [target: Json, patch: Json, result: Json][] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
]

for (const [target, patch, result] of RFC_7396) {
  test(`RFC 7396: ${JSON.stringify(patch)} onto ${JSON.stringify(target)}`, () => {
    assert.equal(mergePatch(target, patch), result)
  })
}

test('replace is the payload itself', () => {
  const payload = { a: 1 }
  assert.ok(modeOf('replace')({ b: 2 }, payload) === payload)
})

test('extend merges objects deeply and replaces other values, null among them (RUN-34)', () => {
  const before = { plan: { a: 1, b: { c: 2 } }, note: 'x', list: [1, 2] }
  assert.equal(extend(before, { plan: { b: { d: 3 } }, note: null, list: [3] }), {
    plan: { a: 1, b: { c: 2, d: 3 } },
    note: null,
    list: [3],
  })
})

test('extend adds to lists under critical keys what is not in them yet', () => {
  assert.equal(extend({ facts: ['a', 'b'] }, { facts: ['b', 'c', 'c'] }), { facts: ['a', 'b', 'c'] })
  assert.equal(extend({ facts: { deep: ['a'] } }, { facts: { deep: ['b'] } }), { facts: { deep: ['a', 'b'] } })
  assert.equal(extend({ plan: { facts: ['a'] } }, { plan: { facts: ['b'] } }), { plan: { facts: ['b'] } })
})

test('extend knows a list member as the validator does', () => {
  assert.equal(extend({ entities: ['ACME'] }, { entities: [' acme', 'New'] }), { entities: ['ACME', 'New'] })
  assert.equal(extend({ facts: [{ id: 1, v: 'a' }] }, { facts: [{ id: 2 }, { id: 1, w: 'b' }] }), {
    facts: [{ id: 1, v: 'a', w: 'b' }, { id: 2 }],
  })
  const actions = [
    { tool: 'book', status: 'pending' },
    { tool: 'pay', status: 'done' },
  ]
  assert.equal(extend({ actions }, { actions: [{ tool: 'book', status: 'done' }] }), {
    actions: [
      { tool: 'book', status: 'done' },
      { tool: 'pay', status: 'done' },
    ],
  })
})

test('extend moves the action that is in the state given, and adds one that is in none', () => {
  const actions = [
    { tool: 'x', status: 'done' },
    { tool: 'x', status: 'running' },
  ]
  assert.ok(extend({ actions }, { actions: [{ tool: 'x', status: 'running' }] }).actions === actions)
  assert.equal(extend({ actions: [] }, { actions }), { actions })
})

test('what changes nothing is the context itself, and what did not change is shared', () => {
  const before = { facts: { a: [1, { b: 2 }] }, plan: { x: { y: 1 } } }
  const same = JSON.parse(JSON.stringify(before)) as JsonObject
  assert.ok(extend(before, same) === before)
  assert.ok(merge(before, same) === before)
  const after = extend(before, { facts: { c: 3 } })
  assert.ok(after.plan === before.plan)
  assert.ok(merge(before, { facts: { c: 3 } }).plan === before.plan)
})

test('names like those of every object, and like integers, are members like any other', () => {
  for (const mode of [extend, merge]) {
    const after = mode({ 10: 'a' }, { constructor: 'x', toString: { valueOf: 1 }, 9: 'b' } as unknown as JsonObject)
    deepStrictEqual(after, { 10: 'a', constructor: 'x', toString: { valueOf: 1 }, 9: 'b' })
  }
})

test('a member __proto__ could not come in; if it did, it would change no prototype', () => {
  const payload = JSON.parse('{"__proto__": {"polluted": true}, "a": {"__proto__": {"polluted": true}}}') as JsonObject
  for (const mode of [extend, merge]) {
    const after = mode({ a: {} }, payload)
    assert.is(({} as Record<string, unknown>).polluted, undefined)
    assert.is((after as Record<string, unknown>).polluted, undefined)
    assert.ok(Object.getPrototypeOf(after) === Object.prototype)
  }
})

test('extending twice by the same is extending once', () => {
  fc.assert(
    fc.property(context, context, (before, payload) => {
      const once = extend(before, payload)
      assert.equal(extend(once, payload), once)
    }),
    { numRuns: 300 },
  )
})

test('no mode changes its inputs', () => {
  fc.assert(
    fc.property(context, context, fc.constantFrom(extend, merge), (before, payload, mode) => {
      const kept = JSON.stringify([before, payload])
      mode(before, payload)
      assert.is(JSON.stringify([before, payload]), kept)
    }),
  )
})

test.run()
