import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { confusionOf } from './confusion.ts'
import { INDUSTRY } from './held/industry.ts'
import { SERVICE } from './held/service.ts'

const test = suite('judgement: a second held set')

const HELD = [...SERVICE, ...INDUSTRY]

test('handoffs of ten more domains, half of them contradictions, are judged as they are labelled', () => {
  const { missed, refused, missedShare, refusedShare } = confusionOf(HELD, () => resolvePolicy({ suspect: 'refuse' }))
  assert.is(HELD.length, 120)
  console.log(`of ${HELD.length}: missed ${missedShare}, refused without cause ${refusedShare}`)
  // A date under `last_*` is no clock by its name.
  assert.equal({ missed, refused }, { missed: [], refused: ['lease: the meter read again'] })
})

test.run()
