/** @module What denies a value beside it: `not approved` after `approved`, `Before 25 May` for 25 May. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../../schemas/json.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'

const test = suite('judgement: denials')

/** The rules that the change breaks, below one protected key. */
function facts(before: JsonObject, after: JsonObject): readonly string[] {
  const { findings } = validateHandoff({
    before: { facts: before },
    after: { facts: after },
    policy: resolvePolicy('default'),
  })
  return findings.map(({ rule }) => rule)
}

test('a state word is not followed by its own denial; what takes a deed back, or changes with time, may follow (JUD-10, A261)', () => {
  const denied = [
    ['approved', 'not approved'],
    ['approved', 'not_yet_confirmed'],
    ['verified', 'un-verified'],
    ['confirmed', 'unconfirmed'],
    ['valid', 'invalid'],
    ['paid', 'unpaid'],
    ['paid', 'not paid'],
    ['Delivered', 'not yet delivered'],
    ['shipped', 'never shipped'],
  ]
  const moved = [
    ['not approved', 'approved'],
    ['unpaid', 'paid'],
    ['subscribed', 'unsubscribed'],
    ['locked', 'unlocked'],
    ['healthy', 'unhealthy'],
    ['done', 'undone'],
    ['paid', 'refunded'],
    ['open', 'not approved'],
  ]
  for (const [before = '', after = ''] of denied)
    assert.is(facts({ status: before }, { status: after }).length, 1, `${before} ${after}`)
  for (const [before = '', after = ''] of moved)
    assert.equal(facts({ status: before }, { status: after }), [], `${before} ${after}`)
})

test('a word before a date is the day of the week on which it is, or it is not that date (A262)', () => {
  const due = '2024-05-25'
  for (const same of ['Saturday, May 25, 2024', 'Sat, 25 May 2024', 'Sat 25 May 2024', '25 May 2024'])
    assert.equal(facts({ due }, { due: same }), [], same)
  for (const other of [
    'Before 25 May 2024',
    'Not 25 May 2024',
    'After, May 25, 2024',
    'Fri, 25 May 2024',
    'Friday, May 25, 2024',
  ])
    assert.is(facts({ due }, { due: other }).length, 1, other)
})

test.run()
