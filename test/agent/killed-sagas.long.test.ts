import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import type { SagaResult, StepStatus } from '../../src/agent/saga/saga-result.ts'
import { HOMES, NO_WAIT, shortLife } from './homes.ts'

interface Step {
  readonly fails: boolean
  readonly compensate: boolean
}
type Plan = readonly (readonly Step[])[]

const plans: fc.Arbitrary<Plan> = fc.array(
  fc.array(
    fc.record({
      fails: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
      compensate: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  { minLength: 1, maxLength: 4 },
)

/** Effects by idempotency key: a provider that knows its keys, so that what died on the way may be sent again. */
interface World {
  readonly done: Map<string, string>
  readonly undone: Map<string, string>
}

const nameOf = (group: number, index: number): string => `t${group}-${index}`

function life(cs: Countersign, id: string, { plan, world }: { plan: Plan; world: World }): Promise<SagaResult> {
  for (const [g, group] of plan.entries()) {
    for (const [i, { fails, compensate }] of group.entries()) {
      const name = nameOf(g, i)
      cs.tool({
        name,
        onUnknown: 'retry',
        backoff: NO_WAIT,
        execute: async (_: object, { idempotencyKey }) => {
          if (fails) throw new Error(name)
          world.done.set(idempotencyKey, name)
          return name
        },
        ...(compensate && {
          compensate: (_: unknown, context: { readonly idempotencyKey: string }) =>
            void world.undone.set(context.idempotencyKey, name),
        }),
      })
    }
  }
  const steps = plan.map((group, g) => group.map((_, i) => ({ tool: nameOf(g, i), args: {} })))
  return cs.saga(steps, { id })
}

function expectedOf(plan: Plan) {
  const failing = plan.findIndex((group) => group.some(({ fails }) => fails))
  const all = plan.flatMap((group, g) => group.map((step, i) => ({ ...step, g, name: nameOf(g, i) })))
  const done = all.filter(({ g, fails }) => !fails && (failing < 0 || g <= failing))
  const undone = failing < 0 ? [] : done.filter(({ compensate }) => compensate)
  const standing = failing >= 0 && done.length > undone.length
  const statuses = all.map(({ g, fails, compensate }): StepStatus => {
    if (failing >= 0 && g > failing) return 'not-run'
    if (fails) return 'failed'
    return failing >= 0 && compensate ? 'compensated' : 'succeeded'
  })
  return {
    status: failing < 0 ? 'SUCCESS' : standing ? 'PARTLY_COMPENSATED' : 'COMPENSATED',
    statuses,
    done: done.map(({ name }) => name).sort(),
    undone: undone.map(({ name }) => name).sort(),
  }
}

const kills = fc.array(fc.record({ at: fc.integer({ min: 1, max: 25 }), lastArrives: fc.boolean() }), {
  minLength: 1,
  maxLength: 3,
})
const RUNS: Readonly<Record<string, number>> = { 'in process': 200, 'over HTTP': 20 }

for (const { name, open } of HOMES) {
  const killed = suite(`killed sagas ${name}`)

  killed('however often the process dies, each step is done once, undone once, and the end is the same', async () => {
    await using home = await open()
    let number = 0
    await fc.assert(
      fc.asyncProperty(plans, kills, async (plan, deaths) => {
        number += 1
        const id = `saga-${number}`
        const world: World = { done: new Map(), undone: new Map() }
        for (const death of deaths) await shortLife(home, death, (cs) => life(cs, id, { plan, world }))
        const { status, steps } = await life(home.process(), id, { plan, world })
        const observed = {
          status,
          statuses: steps.map((step) => step.status),
          done: [...world.done.values()].sort(),
          undone: [...world.undone.values()].sort(),
        }
        assert.equal(observed, expectedOf(plan))
      }),
      { numRuns: RUNS[name] ?? 1 },
    )
  })

  killed.run()
}
