import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { withSharedParts } from '../../projections/merge.ts'
import { isEqual, type Json, type JsonObject } from '../../schemas/json.ts'

const test = suite('values that share their parts')

const copyOf = (value: Json): Json => JSON.parse(JSON.stringify(value)) as Json

/** Few keys and few scalars, so that two documents have much in common. */
const { document } = fc.letrec<{ document: Json }>((tie) => ({
  document: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom<Json>(0, 1, 'a', 'b', true, null),
    fc.array(tie('document'), { maxLength: 4 }),
    fc
      .array(fc.tuple(fc.constantFrom('a', 'b', 'c', '1', 'constructor'), tie('document')), { maxLength: 4 })
      .map((entries) => Object.fromEntries(entries) as JsonObject),
  ),
}))

test('a value with shared parts reads as the value did, key by key in its order, and neither is changed', () => {
  fc.assert(
    fc.property(document, document, (before, now) => {
      const [textBefore, textNow] = [JSON.stringify(before), JSON.stringify(now)]
      const shared = withSharedParts(before, now)
      assert.is(JSON.stringify(shared), textNow)
      assert.is(JSON.stringify(before), textBefore)
      assert.is(JSON.stringify(now), textNow)
      assert.ok(isEqual(shared, now))
    }),
    { numRuns: 500 },
  )
})

test('a copy of a value is that value again', () => {
  fc.assert(
    fc.property(document, (value) => {
      assert.is(withSharedParts(value, copyOf(value)), value)
    }),
  )
})

test('beside what has changed, every list and object at its place is the one that stood there', () => {
  const before = { facts: [{ id: 'f1', tags: ['x'] }, { id: 'f2' }], notes: { n: 1, authors: ['r'] }, gone: { a: 1 } }
  const now = { facts: [{ id: 'f1', tags: ['x'] }, { id: 'f3' }], notes: { n: 2, authors: ['r'] }, more: {} }
  const shared = withSharedParts(before, now) as typeof now
  assert.equal(shared, now)
  assert.is(shared.facts[0], before.facts[0])
  assert.is(shared.notes.authors, before.notes.authors)
  assert.is.not(shared.notes, before.notes)
  assert.is(shared.facts[1], now.facts[1])
})

test('keys in another order are not the same value, but what lies below them is', () => {
  const before = { a: { x: 1 }, b: { y: 1 } }
  const shared = withSharedParts(before, { b: { y: 1 }, a: { x: 1 } }) as typeof before
  assert.equal(Object.keys(shared), ['b', 'a'])
  assert.is(shared.a, before.a)
  assert.is(shared.b, before.b)
})

test.run()
