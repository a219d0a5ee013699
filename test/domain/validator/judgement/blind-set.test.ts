import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { CARE } from './blind/care.ts'
import { GOODS } from './blind/goods.ts'
import { judgeLabelled } from './confusion.ts'
import { figuresOf, outcomeOf, printedCounts } from './outcomes.ts'

const test = suite('judgement: a hundred handoffs written from the page alone')

const SET = [...GOODS, ...CARE]

/** A list may grow, names may take each other's places as the one at hand does, and nothing says that standings are an order. */
const SILENT = [
  'kindergarten: anybody may fetch her',
  'chess federation: white and black changed',
  'chess federation: the standings turned round',
]

test('no innocent one is refused by default, and few spoilt ones are accepted in silence (JUD-38)', () => {
  assert.equal([SET.filter(({ label }) => label === 'reject').length, SET.length], [50, 100])
  for (const suspect of ['record', 'refuse'] as const) {
    const policy = resolvePolicy({ suspect })
    const { innocent, spoilt } = figuresOf(SET, policy, ({ domain }) => domain)
    console.log(`suspect ${suspect}: innocent ${printedCounts(innocent)}; spoilt ${printedCounts(spoilt)}`)
  }
  const policy = resolvePolicy()
  const outcomes = SET.map((each) => ({ ...each, outcome: outcomeOf(judgeLabelled(each, policy)) }))
  const named = (label: string, outcome: string) =>
    outcomes
      .filter((each) => each.label === label && each.outcome === outcome)
      .map(({ domain, why }) => `${domain}: ${why}`)
  console.log(`innocent and suspect: ${named('accept', 'suspect').join('; ')}`)
  assert.equal(named('accept', 'refused'), [])
  assert.equal(named('reject', 'silent'), SILENT)
})

test.run()
