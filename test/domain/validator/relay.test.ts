import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { Policy } from '../../../schemas/policy.ts'
import { resolvePolicy } from '../../../schemas/resolve-policy.ts'
import { addToolResult, emptyEvidence } from '../../../src/domain/validator/evidence.ts'
import { byCodePoint, isEqualInPython, relayEntities } from '../../../src/domain/validator/relay.ts'
import { type Verdict, validateHandoff } from '../../../src/domain/validator/validate.ts'
import { anyCharacter } from '../../support/any-character.ts'
import { relayVerdicts } from '../../support/relay-verdicts.ts'
import { ROOT } from '../../support/source-root.ts'

const test = suite('policy relay')
const policy = resolvePolicy('relay')

const judge = (before: JsonObject, after: JsonObject): Verdict => validateHandoff({ before, after, policy })
const rules = (before: JsonObject, after: JsonObject) => judge(before, after).findings.map(({ rule }) => rule)
const entities = (payload: JsonObject) => {
  const found = relayEntities(payload)
  return found === 'too-deep' ? found : [...found].sort()
}
const names = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, i) => `name ${from + i}`)

/** A value below `depth` containers. */
function nested(depth: number, value: Json, wrap: (inner: Json) => Json = (inner) => [inner]): Json {
  return depth === 0 ? value : wrap(nested(depth - 1, value, wrap))
}

test('strings count under each of the seven keys, in any depth, lower-cased, and under no other (JUD-30)', () => {
  const keys = ['entity', 'entities', 'subject', 'object', 'name', 'id', 'identifier']
  for (const key of keys) assert.equal(entities({ a: [{ b: { [key]: 'ACME' } }] }), ['acme'])
  for (const key of ['Entity', 'names', 'title', 'ids']) assert.equal(entities({ [key]: 'ACME' }), [])
})

test('a string counts as an element of a list under such a key, of nested lists too', () => {
  assert.equal(entities({ entities: ['one', ['two', ['three']]] }), ['one', 'three', 'two'])
})

test('an object inside such a list starts over', () => {
  assert.equal(entities({ entities: [{ title: 'one', name: 'two' }] }), ['two'])
  assert.equal(entities({ entity: { title: 'one', tags: ['three'] } }), [])
})

test('a string counts from 3 to 79 code points, before it is lower-cased', () => {
  assert.equal(entities({ entities: ['ab', 'abc', 'x'.repeat(79), 'x'.repeat(80)] }), ['abc', 'x'.repeat(79)])
  assert.equal(
    entities({ entities: ['😀😀', '😀😀😀', '😀'.repeat(79), '😀'.repeat(80)] }),
    ['😀'.repeat(79), '😀😀😀'].sort(),
  )
})

test('stop words do not count, in any case', () => {
  const words = 'the and but for nor yet with from are was were been being'.split(' ')
  assert.equal(entities({ entities: [...words, 'The', 'WITH', 'then'] }), ['then'])
})

test('numbers and booleans do not count', () => {
  assert.equal(entities({ id: 12345, name: true, entities: [12345, null] }), [])
})

test('more than two new entities for each removed one are a fabrication (JUD-30)', () => {
  assert.equal(rules({}, { entities: names(0, 2) }), [])
  assert.equal(rules({}, { entities: names(0, 3) }), ['fabrication'])
  assert.equal(rules({ entities: names(0, 1) }, { entities: names(1, 3) }), [])
  assert.equal(rules({ entities: names(0, 1) }, { entities: names(1, 4) }), ['fabrication'])
  assert.equal(rules({ entities: names(0, 2) }, { entities: names(2, 6) }), [])
  assert.equal(rules({ entities: names(0, 2) }, { entities: names(2, 7) }), ['fabrication'])
})

test('more than three removed and none new are a deletion', () => {
  assert.equal(rules({ entities: names(0, 3) }, { entities: [] }), [])
  assert.equal(rules({ entities: names(0, 4) }, { entities: [] }), ['deletion'])
  assert.equal(rules({ entities: names(0, 4) }, { entities: names(9, 10) }), [])
})

test('a critical key must not vanish; what stands in it may', () => {
  assert.equal(rules({ facts: { price: 5 }, constraints: ['a'] }, { plan: 1 }), [
    'critical-key-removed',
    'critical-key-removed',
  ])
  assert.equal(rules({ facts: { price: 5 } }, { facts: null }), [])
})

test('the payload has depth 0; what is visited deeper than 50 is a contradiction, scalars too', () => {
  // 50 lists around a scalar below one member: the innermost list has depth 50, its element 51.
  assert.equal(rules({}, { a: nested(49, 1) }), [])
  assert.equal(rules({}, { a: nested(50, 1) }), ['too-deep'])
  assert.equal(rules({}, { a: nested(50, []) }), ['too-deep'])
  assert.equal(rules({}, { a: nested(49, []) }), [])
  const inObjects = (depth: number, leaf: Json) => ({ a: nested(depth, leaf, (inner) => ({ b: inner })) })
  assert.equal(rules({}, inObjects(49, 1)), [])
  assert.equal(rules({}, inObjects(50, 1)), ['too-deep'])
})

test('a string that counts is not visited, so it may stand one deeper; one that does not count may not', () => {
  assert.equal(rules({}, { name: nested(50, 'ACME') }), [])
  assert.equal(rules({}, { name: nested(50, 'ab') }), ['too-deep'])
  assert.equal(rules({}, { title: nested(50, 'ACME') }), ['too-deep'])
})

test('what was established may be too deep as well', () => {
  assert.equal(rules({ a: nested(60, 1), facts: 1 }, {}), ['too-deep', 'critical-key-removed'])
})

test('the walk takes the last first and stops once 10,000 are found', () => {
  const many = Array.from({ length: 10_000 }, (_, i) => `entity ${i}`)
  // Put aside last, `z` is walked first: nothing of `a` is looked at, its depth neither.
  assert.equal(rules({ z: { entities: many } }, { a: nested(60, 1), z: { entities: many } }), [])
  assert.equal(rules({ z: { entities: many } }, { z: { entities: many }, a: nested(60, 1) }), ['too-deep'])
  const found = relayEntities({ a: { name: 'never found' }, z: { entities: [...many, 'found with its list'] } })
  assert.is(found === 'too-deep' || found.size, 10_001)
})

test('confidence is 0 on a contradiction, 1 without entities, else kept / entities now', () => {
  assert.is(judge({}, { entities: names(0, 3) }).confidence, 0)
  assert.is(judge({ entities: names(0, 2) }, { plan: 1, entities: [] }).confidence, 1)
  assert.is(judge({ entities: names(0, 2) }, { entities: names(0, 4) }).confidence, 0.5)
})

test('the diff lists top-level keys in code point order', () => {
  const before = { b: 1, a: 1, gone: 1, '\u{1f600}': 1, '\uff5e': 1 }
  const after = { b: 2, a: 2, fresh: 1, '\u{1f600}': 2, '\uff5e': 2 }
  assert.equal(judge(before, after).diff, {
    added: ['fresh'],
    removed: ['gone'],
    modified: ['a', 'b', '\uff5e', '\u{1f600}'],
  })
})

test('modified compares as Python does: true equals 1, false equals 0, in any depth', () => {
  const before = { a: true, b: [0, { c: 1 }], d: 1, e: '1', f: { x: 1, y: 2 }, g: [1, 2], h: null }
  const after = { a: 1, b: [false, { c: true }], d: 1.0, e: 1, f: { y: 2, x: 1 }, g: [2, 1], h: false }
  assert.equal(judge(before, after).diff.modified, ['e', 'g', 'h'])
})

test('code point order is the order of UTF-8 bytes', () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 4 })
  fc.assert(
    fc.property(text, text, (a, b) => {
      assert.is(Math.sign(byCodePoint(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)))
    }),
  )
})

test('without booleans and numbers Python and JSON agree on what is equal', () => {
  const value = fc
    .jsonValue({ maxDepth: 3 })
    .map((given) => JSON.parse(JSON.stringify(given).replaceAll(/true|false/g, 'null')) as Json)
  fc.assert(
    fc.property(value, value, (a, b) => {
      assert.ok(isEqualInPython(a, JSON.parse(JSON.stringify(a))))
      assert.is(isEqualInPython(a, b), isEqualInPython(b, a))
    }),
  )
})

test('under ungrounded a name is ungrounded that is neither established nor answered by a tool (JUD-30)', () => {
  const evidence = addToolResult(emptyEvidence(), { value: { carrier: 'Umbra' }, revision: 1, bytes: 10 })
  const before = { entities: ['Acme'] }
  const after = { entities: ['Acme', 'Umbra', 'Globex'] }
  const judged = (input: Policy) => validateHandoff({ before, after, policy: resolvePolicy(input), evidence }).findings
  assert.equal(
    judged({ base: 'relay', ungrounded: 'warn' }).map(({ rule, path }) => `${rule} ${path}`),
    ['ungrounded /entities/2'],
  )
  assert.equal(judged('relay'), [])
})

test('the verdicts on pairs of usual contexts are those that were recorded', () => {
  const recorded = readFileSync(join(ROOT, 'test/vectors/validator/relay.txt'), 'utf8').trim().split('\n')
  assert.ok(recorded.length > 1_500)
  assert.equal(relayVerdicts(), recorded)
})

test.run()
