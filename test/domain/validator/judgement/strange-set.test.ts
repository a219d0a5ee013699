import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { confusionOf } from './confusion.ts'
import { PEOPLE } from './strange/people.ts'
import { PLANTS } from './strange/plants.ts'

const test = suite('judgement: two hundred handoffs of ten trades')

test('of handoffs written down before a rule was tried on them none is missed, and none innocent refused but for a state that is not known', () => {
  const cases = [...PLANTS, ...PEOPLE]
  assert.equal([cases.filter(({ label }) => label === 'reject').length, cases.length], [100, 200])
  const { missed, refused } = confusionOf(cases, () => resolvePolicy({ suspect: 'refuse' }))
  // Neither word is a state that is known: suspect, and refused by the strict policy alone.
  assert.equal({ missed, refused }, { missed: [], refused: ['discovery: the second pass begins'] })
})

test.run()
