import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'
import { outcomeOf } from './outcomes.ts'
import { NO_WORDS, OTHER_WORDS, TABLE_CASES } from './tables.ts'

const test = suite('judgement: every word of the tables')

const policy = resolvePolicy()

test('each word of a table lets pass what it stands for, and nothing else (JUD-99)', () => {
  const wrong = TABLE_CASES.filter(({ before, after, isSaid }) => {
    return (outcomeOf(validateHandoff({ before, after, policy })) !== 'silent') !== isSaid
  })
  assert.equal(
    wrong.map(
      ({ table, word, isSaid, after }) => `${table} ${word} ${isSaid ? 'silent' : 'said'} ${JSON.stringify(after)}`,
    ),
    [],
  )
})

test('a word that is in no table lets nothing pass; `last_*` is no clock by its name (JUD-99)', () => {
  const outcome = ([before, after]: (typeof NO_WORDS)[number]) => outcomeOf(validateHandoff({ before, after, policy }))
  for (const change of NO_WORDS) assert.is.not(outcome(change), 'silent', JSON.stringify(change))
  for (const change of OTHER_WORDS) assert.is(outcome(change), 'silent', JSON.stringify(change))
})

test.run()
