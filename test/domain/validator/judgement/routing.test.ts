/** A handoff that only routes work: what each change of it comes to, by default and under the strict policy. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../../schemas/json.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'
import { type Outcome, outcomeOf } from './outcomes.ts'

const test = suite('judgement: a handoff that only routes')

const BEFORE: JsonObject = {
  task: 'check the invoice of ACME GmbH',
  next_action: 'verify the amount',
  assigned_to: 'clerk',
  approved: false,
  customer: 'ACME GmbH',
}

/** Nothing is refused by default: no critical key, no declaration and no tool's answer is concerned. */
const CASES: readonly (readonly [why: string, change: JsonObject, byDefault: Outcome, strict: Outcome])[] = [
  ['nothing changes', {}, 'silent', 'silent'],
  ['it is approved: work that is done', { approved: true }, 'silent', 'silent'],
  ['the customer as it is written elsewhere', { customer: 'ACME  GmbH' }, 'silent', 'silent'],
  [
    'the customer in capitals is another spelling of a name in mixed case',
    { customer: 'ACME GMBH' },
    'suspect',
    'refused',
  ],
  ['another task', { task: 'pay the invoice of ACME GmbH' }, 'suspect', 'refused'],
  ['another next action', { next_action: 'pay the amount' }, 'suspect', 'refused'],
  ['another agent', { assigned_to: 'accountant' }, 'suspect', 'refused'],
  ['another customer', { customer: 'ACME AG' }, 'suspect', 'refused'],
  [
    'all of the routing at once',
    { task: 'pay', next_action: 'pay', assigned_to: 'cashier', approved: true },
    'suspect',
    'refused',
  ],
]

test('what it says anew is suspect, and approval is silent; declared once, routing moves, and the customer stays (JUD-38, JUD-43, JUD-44)', () => {
  const judge = (after: JsonObject, policy: Parameters<typeof resolvePolicy>[0]): Outcome =>
    outcomeOf(validateHandoff({ before: BEFORE, after, policy: resolvePolicy(policy) }))
  const moves = ['task', 'next_action', 'assigned_to'].map((key) => ({ path: `/${key}`, as: 'cursor' as const }))
  for (const [why, change, byDefault, strict] of CASES) {
    const after = { ...BEFORE, ...change }
    assert.equal([judge(after, {}), judge(after, { suspect: 'refuse' })], [byDefault, strict], why)
    const isCustomer = 'customer' in change && strict === 'refused'
    assert.is(judge(after, { suspect: 'refuse', moves }), isCustomer ? 'refused' : 'silent', why)
  }
  const takenBack = validateHandoff({
    before: { ...BEFORE, approved: true },
    after: BEFORE,
    policy: resolvePolicy({}),
  })
  assert.is(outcomeOf(takenBack), 'suspect')
  const lost = validateHandoff({
    before: BEFORE,
    after: { next_action: 'verify the amount' },
    policy: resolvePolicy({}),
  })
  assert.is(outcomeOf(lost), 'suspect')
})

test.run()
