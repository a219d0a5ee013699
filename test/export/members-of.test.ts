import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { membersOf } from '../../src/export/members-of.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'

const test = suite('members of a body, without parsing the rest')
const NAMES: ReadonlySet<string> = new Set(['agent', 'usage', 'é', ''])
const TEXT = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.constantFrom('\\', '"', '\\"', '}', ',"agent":1', '\n'),
)
const KEY = fc.oneof(fc.constantFrom(...NAMES), TEXT)
const { value: VALUE } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    ...[
      TEXT,
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom<Json>(null, true, false),
    ],
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(KEY, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}))
const BODY = fc.dictionary(KEY, VALUE, { maxKeys: 6, noNullPrototype: true })

const named = (body: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([name]) => NAMES.has(name)))

test('of a canonical text they are those of the parsed object', () => {
  fc.assert(
    fc.property(BODY, (body) => {
      const found = membersOf(canonicalJson(body), NAMES)
      // Keys that are written with escapes may stand in another order than they are compared in: nothing is said of such a body.
      if (found === undefined) assert.match(canonicalJson(body), /\\/)
      else assert.is(canonicalJson(found), canonicalJson(named(body)))
    }),
    { numRuns: 500 },
  )
  assert.equal(membersOf('{"agent":"a","payload":{"agent":"b","x":["}"]},"usage":{"tokens":1}}', NAMES), {
    ...{ agent: 'a', usage: { tokens: 1 } },
  })
  assert.equal(membersOf('{}', NAMES), {})
})

test('of no other text are any said: what is doubled, out of order, cut or followed by more', () => {
  const texts = ['', '[]', '{', '{"agent"', '{"agent":', '{"agent":1', '{"agent":}', '{"agent":1}}', '{"agent":1} ']
  const spelled = ['{ "agent":1}', '{"agent":1,"agent":2}', '{"usage":1,"agent":2}', '{"agent":{]}', '{"agent":tru}']
  for (const text of [...texts, ...spelled, '{"agent":"a', '{"a":{"b":1,"agent":2', 'null', '{"agent":1,}'])
    assert.is(membersOf(text, NAMES), undefined, text)
})

test.run()
