import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../../schemas/json.ts'
import { resolvePolicy } from '../../../schemas/resolve-policy.ts'
import {
  addEvidence,
  dumpEvidence,
  EVIDENCE_MAX_CHARS,
  EVIDENCE_MAX_ENTRIES,
  type Evidence,
  emptyEvidence,
  groundOf,
  LOOKUP_MAX_CHARS,
  loadEvidence,
} from '../../../src/domain/validator/evidence.ts'
import { validateHandoff } from '../../../src/domain/validator/validate.ts'
import { hasPhrase, numbersOf, wordsOf } from '../../../src/domain/validator/words.ts'
import { finish, Pauses } from '../../../src/domain/yielding.ts'

const test = suite('evidence')

const evidenceOf = (...values: Json[]) =>
  values.reduce((evidence, value) => addEvidence(evidence, value), emptyEvidence())
const isGrounded = (evidence: Evidence, leaf: string | number): boolean | 'truncated' =>
  finish(groundOf(evidence, leaf, { budget: { charsLeft: LOOKUP_MAX_CHARS }, pauses: new Pauses() }))
const grounded = (leaf: string | number, ...values: Json[]) => isGrounded(evidenceOf(...values), leaf)

test('strings are found whole: trimmed, NFC, without case', () => {
  assert.is(grounded(' acme ', { customer: 'ACME' }), true)
  assert.is(grounded('ZOE\u0308', ['zo\u00eb']), true)
  assert.is(grounded('ACM', ['ACME']), false)
})

test('strings are found on word borders within a recorded string', () => {
  const text = 'Hi, I am Mia Li (user mia_li_3668), flying SEA-NYC.'
  for (const name of ['Mia Li', 'mia_li_3668', 'SEA', 'nyc', 'SEA-NYC', 'I am'])
    assert.is(grounded(name, text), true, name)
  for (const name of ['Mia L', 'ia Li', '366', 'yc', 'Li Mia']) assert.is(grounded(name, text), false, name)
})

test('a later place on word borders counts where an earlier one is within a word', () => {
  assert.is(grounded('art', 'party, smart, art!'), true)
})

test('word borders are those of every script', () => {
  assert.is(grounded('é', 'café'), false)
  assert.is(grounded('мир', 'привет, мир'), true)
  assert.is(grounded('мир', 'миру'), false)
  assert.is(grounded('कि', 'किताब'), false)
  assert.is(grounded('𝒳', 'a 𝒳 b'), true)
  assert.is(grounded('𝒳', 'a𝒳 b'), false)
})

test('scripts without spaces have a border at each character', () => {
  assert.is(grounded('東京', '東京都に行く'), true)
  assert.is(grounded('กรุงเทพ', 'ไปกรุงเทพพรุ่งนี้'), true)
  assert.is(grounded('京東', '東京都に行く'), false)
})

test('keys of recorded objects are recorded too', () => {
  assert.is(grounded('HAT001', { flights: { HAT001: { price: 120 } } }), true)
})

test('a text without a letter or digit counts only whole', () => {
  assert.is(grounded('---', 'a --- b'), false)
  assert.is(grounded('---', '---'), true)
  assert.is(grounded('', 'x'), true)
})

test('numbers are found by value, and where a recorded string names them', () => {
  assert.is(grounded(2500, { total: 2500 }), true)
  assert.is(grounded(2500, 'the total is 2,500.00 USD'), true)
  assert.is(grounded(2500, '{"total": 2500, "n": 1}'), true)
  assert.is(grounded(-5, 'it is -5 degrees'), true)
  assert.is(grounded(0.5, 'a share of 0.5.'), true)
  assert.is(grounded(2500, 'order 25001, flight HAT2500, 12500'), false)
  assert.is(grounded(5, ['2.5', 'v1.5']), false)
  assert.is(grounded(2500, true), false)
})

test('a string of digits is found where the number is recorded', () => {
  assert.is(grounded('4711', { id: 4711 }), true)
  assert.is(grounded('04711', { id: 4711 }), false)
})

test('numbers of a text: separators, signs, exponents, borders', () => {
  assert.equal(numbersOf('1,234,567.5 and 1e3 and 12,34'), [1234567.5, 1000, 12])
  assert.equal(numbersOf('x1 2x 3'), [3])
  assert.equal(numbersOf('-7'), [7, -7])
  assert.equal(numbersOf('1e999'), [])
})

test('beyond its bounds it judges nothing', () => {
  const many = evidenceOf(Array.from({ length: EVIDENCE_MAX_ENTRIES }, (_, i) => i))
  assert.is(isGrounded(many, -1), false)
  assert.is(isGrounded(addEvidence(many, -2), -1), 'truncated')
  const long = evidenceOf('x'.repeat(EVIDENCE_MAX_CHARS))
  assert.is(isGrounded(long, 'y'), false)
  assert.is(isGrounded(addEvidence(long, 'y'), 'y'), 'truncated')
  assert.is(isGrounded(addEvidence(long, 'z'), 'z'), 'truncated')
})

test('adding the same again adds nothing', () => {
  const output = { a: 'some text', b: [1, 2, { c: 'more' }] }
  const evidence = evidenceOf(output)
  const dump = dumpEvidence(evidence)
  for (let i = 0; i < 10; i++) addEvidence(evidence, output)
  assert.equal(dumpEvidence(evidence), dump)
})

test('a dump survives JSON and answers as the index did', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue({ maxDepth: 2 })), fc.oneof(fc.string(), fc.integer()), (values, leaf) => {
      const evidence = evidenceOf(...(values as Json[]))
      const loaded = loadEvidence(JSON.parse(JSON.stringify(dumpEvidence(evidence))))
      assert.is(isGrounded(loaded, leaf), isGrounded(evidence, leaf))
      assert.equal(dumpEvidence(loaded), dumpEvidence(evidence))
    }),
  )
  const truncated = loadEvidence({ ...dumpEvidence(emptyEvidence()), truncated: true, numbers: [1], texts: ['a'] })
  assert.is(isGrounded(truncated, 1), 'truncated')
})

test('every phrase of whole words of a long text is found, wherever the text is cut into pieces', () => {
  const words = Array.from({ length: 3_000 }, (_, i) => (i % 7 === 0 ? `é${i}` : i % 11 === 0 ? `𝒳${i}` : `w${i}`))
  const evidence = evidenceOf(words.join(' '))
  fc.assert(
    fc.property(fc.nat(words.length - 6), fc.integer({ min: 1, max: 6 }), (from, length) => {
      const phrase = words.slice(from, from + length).join(' ')
      assert.is(isGrounded(evidence, phrase), true)
      assert.is(isGrounded(evidence, [...phrase].slice(1).join('')), false)
      assert.is(isGrounded(evidence, `${phrase} ${words[from]}`), false)
    }),
    { numRuns: 300 },
  )
})

test('a word that is cut by the border of two pieces has no border there', () => {
  for (let letters = 0; letters < 6; letters++) {
    const text = `${'z '.repeat(1023)}${'qwertzu'.slice(0, letters)}ord tail`
    assert.is(grounded('ord', text), letters === 0)
    assert.is(grounded('tail', text), true)
  }
})

test('look-ups agree with a plain search of all texts', () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', 'ab', ' ', '-', 'é', '東', '1', 'A'), { maxLength: 12 })
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.array(text, { maxLength: 5 }), text, (texts, phrase) => {
      const wanted = phrase.trim().toLowerCase()
      const recorded = texts.map((each) => each.trim().toLowerCase())
      const expected =
        wanted === '' ||
        recorded.includes(wanted) ||
        (wordsOf(wanted).length > 0 && recorded.some((each) => hasPhrase(each, wanted)))
      assert.is(grounded(phrase, texts), expected)
    }),
    { numRuns: 1_000 },
  )
})

test('a payload full of names that are nowhere ends within the budget and says that it was not judged', () => {
  const evidence = emptyEvidence()
  for (let i = 0; i < 2_000; i++) addEvidence(evidence, `${i} ${'aa bb '.repeat(300)}`)
  const entities = Array.from({ length: 10_000 }, (_, i) => `bb bb aa${i % 2 === 0 ? '' : ' aa'} bb`)
  const { verdict, findings } = validateHandoff({
    before: {},
    after: { entities },
    evidence,
    policy: resolvePolicy({ ungrounded: 'reject' }),
  })
  assert.is(findings.at(-1)?.rule, 'evidence-truncated')
  assert.ok(verdict === 'accept' || findings.length > 1)
})

test.run()
