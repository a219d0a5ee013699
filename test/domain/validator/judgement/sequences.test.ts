import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'
import { randomFrom } from '../contexts.ts'
import { judgedLeaves, withOther } from './changes-of-form.ts'
import { CONTEXTS, nextStep } from './next-step.ts'

const test = suite('judgement: sequences of 25 steps')

const policy = resolvePolicy({ suspect: 'refuse' })
const STEPS = 25

test('an innocent agent that keeps state is never refused, in any of the domains', () => {
  assert.ok(CONTEXTS.size >= 6)
  for (const [domain, given] of CONTEXTS) {
    let context = given
    for (let step = 1; step <= STEPS; step += 1) {
      const after = nextStep(context, step)
      const { verdict, findings } = validateHandoff({ before: context, after, policy })
      assert.is(verdict, 'accept', `${domain}, step ${step}: ${JSON.stringify(findings)}`)
      context = after
    }
  }
})

test('the same with one contradiction at a random step is refused at that step', () => {
  let seed = 0
  for (const [domain, given] of CONTEXTS) {
    for (let round = 0; round < 8; round += 1) {
      seed += 1
      const random = randomFrom(seed)
      const wrongAt = 1 + Math.floor(random() * STEPS)
      let context = given
      for (let step = 1; step < wrongAt; step += 1) context = nextStep(context, step)
      const leaves = judgedLeaves(given)
      const path = leaves[Math.floor(random() * leaves.length)] ?? []
      const after = withOther(nextStep(context, wrongAt), path, random)
      assert.is(validateHandoff({ before: context, after, policy }).verdict, 'reject', `${domain} ${path.join('/')}`)
    }
  }
})

test.run()
