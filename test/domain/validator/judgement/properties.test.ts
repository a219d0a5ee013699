import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { applyMode } from '../../../../projections/merge.ts'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { type Verdict, validateHandoff } from '../../../../src/domain/validator/validate.ts'
import { rounds } from '../../../support/rounds.ts'
import { randomFrom } from '../contexts.ts'
import { inOtherWords, judgedLeaves, withOther } from './changes-of-form.ts'
import { CARE } from './fresh/care.ts'
import { MONEY } from './fresh/money.ts'
import { WORK } from './fresh/work.ts'

const test = suite('judgement: properties')

const policy = resolvePolicy({ restated: 'off', suspect: 'refuse' })
const CONTEXTS = [...new Map([...CARE, ...MONEY, ...WORK].map(({ domain, before }) => [domain, before])).values()]
const context = fc.constantFrom(...CONTEXTS)

const judge = (before: JsonObject, after: JsonObject): Verdict => validateHandoff({ before, after, policy })
const errors = ({ findings }: Verdict) => findings.filter(({ severity }) => severity === 'error')

test('a handoff that says the same in any mix of other forms is accepted (JUD-5, JUD-6, JUD-7, JUD-8)', () => {
  fc.assert(
    fc.property(context, fc.nat(), (before, seed) => {
      const after = inOtherWords(before, randomFrom(seed)) as JsonObject
      assert.equal(errors(judge(before, after)), [])
    }),
    { numRuns: rounds(150, 600) },
  )
})

test('one leaf that says something else is refused, whatever else is said in other forms (JUD-9)', () => {
  fc.assert(
    fc.property(context, fc.nat(), fc.nat(), (before, pick, seed) => {
      const random = randomFrom(seed)
      const leaves = judgedLeaves(before)
      const path = leaves[pick % leaves.length] ?? []
      const after = inOtherWords(withOther(before, path, random), random) as JsonObject
      assert.is(judge(before, after).verdict, 'reject', `${path.join('/')}: ${JSON.stringify(after)}`)
    }),
    { numRuns: rounds(300, 1_500) },
  )
})

test('extend is refused whenever replace with the merged document is (JUD-16)', () => {
  const cases = rounds(300, 1_200)
  let refused = 0
  fc.assert(
    fc.property(context, fc.nat(), fc.nat(), (before, pick, seed) => {
      const random = randomFrom(seed)
      const leaves = judgedLeaves(before)
      const path = leaves[pick % leaves.length] ?? []
      const payload = withOther(before, path, random)
      const merged = applyMode({ context: before, payload, mode: 'extend', policy })
      const { verdict } = judge(before, merged)
      // Of one or two members, another one may be one more.
      if (!isInShortList(before, path)) {
        assert.is(verdict, judge(before, payload).verdict, `${path.join('/')}: ${JSON.stringify(payload)}`)
        refused += 1
      }
      const again = applyMode({ context: merged, payload, mode: 'extend', policy })
      assert.is(judge(merged, again).verdict, 'accept')
    }),
    { numRuns: cases },
  )
  assert.ok(refused > cases / 3, `${refused}`)
})

function isInShortList(context: JsonObject, path: readonly (string | number)[]): boolean {
  let value: Json = context
  for (const token of path) {
    if (Array.isArray(value) && value.length < 3) return true
    value = (value as { readonly [key: string]: Json })[token] as Json
  }
  return false
}

const EXTENDED: readonly (readonly [why: string, before: Json, payload: Json, verdict: 'accept' | 'reject'])[] = [
  [
    'the id of the only member',
    [{ id: 'CVE-1', package: 'left-pad', severity: 'high' }],
    [{ id: 'CVE-2', package: 'left-pad', severity: 'high' }],
    'reject',
  ],
  ['one more member like it', [{ sku: 'S1', qty: 2, price: 10 }], [{ sku: 'S2', qty: 2, price: 11 }], 'accept'],
  ['one of three texts', ['penicillin', 'latex', 'nuts'], ['penicillin', 'peanut', 'nuts'], 'reject'],
  ['one more text', ['penicillin', 'latex', 'nuts'], ['peanut'], 'accept'],
  ['one more text behind those that stand', ['penicillin', 'latex'], ['penicillin', 'latex', 'nuts'], 'accept'],
  ['the number in the only sentence', ['warfarin 5 mg daily'], ['warfarin 50 mg daily'], 'reject'],
  ['one of two texts again with one more', ['urgent', 'vip'], ['urgent', 'refund'], 'accept'],
  ['another sentence', ['warfarin 5 mg daily'], ['metformin 500 mg daily'], 'accept'],
  ['another day of the same', ['visit on day 1'], ['visit on day 2'], 'accept'],
  [
    'two values changed places',
    [
      { kind: 'house', value: 310 },
      { kind: 'car', value: 22 },
    ],
    [
      { kind: 'house', value: 22 },
      { kind: 'car', value: 310 },
    ],
    'reject',
  ],
]

for (const [why, before, payload, verdict] of EXTENDED) {
  test(`extend by a list: ${why} is ${verdict === 'accept' ? 'accepted' : 'refused'} (JUD-16)`, () => {
    const context = { facts: { list: before } }
    const after = applyMode({ context, payload: { facts: { list: payload } }, mode: 'extend', policy })
    assert.is(judge(context, after).verdict, verdict, JSON.stringify(after))
  })
}

test('a part of what is established, handed over by extend, changes nothing (JUD-16)', () => {
  for (const before of CONTEXTS) {
    for (const key of Object.keys(before)) {
      const payload = { [key]: before[key] as Json }
      assert.equal(applyMode({ context: before, payload, mode: 'extend', policy }), before)
    }
  }
})

test.run()
