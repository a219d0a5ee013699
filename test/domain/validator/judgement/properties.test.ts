import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { applyMode } from '../../../../projections/merge.ts'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { type Verdict, validateHandoff } from '../../../../src/domain/validator/validate.ts'
import { randomFrom } from '../contexts.ts'
import { inOtherWords, judgedLeaves, withOther } from './changes-of-form.ts'
import { CARE } from './fresh/care.ts'
import { MONEY } from './fresh/money.ts'
import { WORK } from './fresh/work.ts'

const test = suite('judgement: properties')

const policy = resolvePolicy({ restated: 'off' })
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
    { numRuns: 600 },
  )
})

test('one leaf that says something else is refused, whatever else is said in other forms (JUD-9)', () => {
  fc.assert(
    fc.property(context, fc.nat(), fc.nat(), (before, pick, seed) => {
      const random = randomFrom(seed)
      const leaves = judgedLeaves(before)
      const path = leaves[pick % leaves.length] ?? []
      const after = withOther(before, path, random)
      assert.is(judge(before, after).verdict, 'reject', `${path.join('/')}: ${JSON.stringify(after)}`)
    }),
    { numRuns: 1500 },
  )
})

test('extend is refused whenever replace with the merged document is (JUD-16)', () => {
  let refused = 0
  fc.assert(
    fc.property(context, fc.nat(), fc.nat(), (before, pick, seed) => {
      const random = randomFrom(seed)
      const leaves = judgedLeaves(before)
      const path = leaves[pick % leaves.length] ?? []
      const payload = withOther(before, path, random)
      const merged = applyMode({ context: before, payload, mode: 'extend', policy })
      const verdict = judge(before, merged)
      // A leaf of a list member may make another member of it; below objects alone it stands where it stood.
      if (!path.some((token) => typeof token === 'number')) {
        assert.is(verdict.verdict, judge(before, payload).verdict)
        refused += 1
      }
      const again = applyMode({ context: merged, payload, mode: 'extend', policy })
      assert.is(judge(merged, again).verdict, 'accept')
    }),
    { numRuns: 600 },
  )
  assert.ok(refused > 100)
})

test('a part of what is established, handed over by extend, changes nothing (JUD-16)', () => {
  for (const before of CONTEXTS) {
    for (const key of Object.keys(before)) {
      const payload = { [key]: before[key] as Json }
      assert.equal(applyMode({ context: before, payload, mode: 'extend', policy }), before)
    }
  }
})

test.run()
