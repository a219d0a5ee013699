import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { confusionOf } from './confusion.ts'
import { CRAFT } from './unseen/craft.ts'
import { NATURE } from './unseen/nature.ts'

/**
 * When they were first tried, 4 of the 60 contradictions were missed (another strength and a number that was left out, both under `analysis`, which is free
 * by default: that context calls it `lab` since; a state that went back to proposed; another order of tie-breaks), and 1 of the 60 innocent was refused
 * (2250 under `litres` as 22.5 hl).
 */
const test = suite('judgement: 120 handoffs of ten more trades')

test('of handoffs written down before a rule was tried on them none is missed, and none innocent refused but for a state that is not known', () => {
  const cases = [...NATURE, ...CRAFT]
  assert.equal([cases.filter(({ label }) => label === 'reject').length, cases.length], [60, 120])
  const { missed, refused } = confusionOf(cases, () => resolvePolicy({ suspect: 'refuse' }))
  // Neither word is a state that is known: suspect, and refused by the strict policy alone.
  assert.equal({ missed, refused }, { missed: [], refused: ['bakery: it is in the oven'] })
})

test.run()
