import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'
import { randomFrom } from '../contexts.ts'
import { judgedLeaves, withOther } from './changes-of-form.ts'
import { CARE } from './fresh/care.ts'
import { MONEY } from './fresh/money.ts'
import { WORK } from './fresh/work.ts'

const test = suite('judgement: sequences of 25 steps')

const policy = resolvePolicy()
const STEPS = 25
const CONTEXTS = new Map([...CARE, ...MONEY, ...WORK].map(({ domain, before }) => [domain, before]))

/** An agent that keeps what it was given, counts, moves its own tasks on, writes notes and learns a fact now and then. */
function nextStep(before: JsonObject, step: number): JsonObject {
  const task = (id: number, status: string): Json => ({ id: `task-${id}`, status, tool: `look up ${id}` })
  const own: JsonObject = {
    step,
    attempts: 1 + Math.floor(step / 4),
    updated_at: new Date(Date.UTC(2025, 0, 1, 0, step)).toISOString(),
    phase: step < 5 ? 'queued' : step < 20 ? 'in progress' : 'done',
    tasks: Array.from({ length: Math.min(1 + Math.floor(step / 3), 8) }, (_, id) =>
      task(id, step - 3 * id < 1 ? 'pending' : step - 3 * id < 3 ? 'running' : 'succeeded'),
    ),
    learnt: Object.fromEntries(
      Array.from({ length: Math.floor(step / 2) }, (_, i) => [`finding_${i}`, `what was found: ${i * 7}`]),
    ),
  }
  return { ...before, notes: `step ${step}`, agent_state: own }
}

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
