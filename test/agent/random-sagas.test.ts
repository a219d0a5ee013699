import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isJsonObject, type JsonObject } from '../../schemas/json.ts'
import type { Connection } from '../../src/agent/runtime/connection.ts'
import type { SagaResult } from '../../src/agent/saga/saga-result.ts'
import { rounds } from '../support/rounds.ts'
import { HOMES, type TestHome } from './homes.ts'
import { expectedOf, nameOf, registerTools, type SagaPlan, sagas, type World } from './saga-model.ts'

/** Over HTTP the same code runs; there a sample is enough. */
/** So often a saga that has ended is requested again. */
const AGAIN_EVERY = 4
const RUNS: Readonly<Record<string, number>> = { 'in process': rounds(40, 250, 2_000), 'over HTTP': rounds(2, 20, 60) }

for (const { name, open } of HOMES) {
  const random = suite(`random sagas ${name}`)

  random('have the effects and the statuses that the model has', async () => {
    await using home = await open()
    const seen = new Set<string>()
    let number = 0
    await fc.assert(
      fc.asyncProperty(sagas, async (plan) => {
        const world: World = { executions: {}, undone: [] }
        number += 1
        const id = `saga-${number}`
        const result = await carried(home, { id, plan, world })
        seen.add(result.status)
        assert.equal(observed(result, world), sorted(expectedOf(plan)))
        assert.equal(groupsOf(world.undone), groupsOf(expectedOf(plan).undone))
        assert.is(await recordedStatus(home.connection, result.runId), result.status)
        if (number % AGAIN_EVERY !== 0) return
        const again = await carried(home, { id, plan, world })
        assert.equal(observed(again, world), sorted(expectedOf(plan)), 'asked again, the record answers the same')
      }),
      { numRuns: RUNS[name] ?? 1 },
    )
    if (name === 'in process') {
      assert.equal([...seen].sort(), [
        'COMPENSATED',
        'COMPENSATION_FAILED',
        'IN_DOUBT',
        'PARTLY_COMPENSATED',
        'PARTLY_SUCCEEDED',
        'SUCCESS',
      ])
    }
  })

  random.run()
}

async function carried(
  home: TestHome,
  { id, plan, world }: { id: string; plan: SagaPlan; world: World },
): Promise<SagaResult> {
  const cs = home.process()
  registerTools(cs, plan, world)
  return cs.saga(
    plan.map((group, g) => group.map((_, i) => ({ tool: nameOf(g, i) }))),
    { id },
  )
}

function observed({ status, tries, steps }: SagaResult, world: World) {
  return sorted({
    status,
    tries,
    steps: steps.map((step) => ({ status: step.status, attempts: step.attempts })),
    ...world,
  })
}

function sorted<T extends { readonly undone: readonly string[] }>(value: T): T {
  return { ...value, undone: [...value.undone].sort() }
}

/** Which groups were undone, in order: newest first within each try, in any order within a group. */
function groupsOf(undone: readonly string[]): string[] {
  return undone.map((each) => /^t\d+/.exec(each)?.[0] ?? '')
}

/** What the ledger itself says of the run's end. */
async function recordedStatus(connection: Connection, runId: string): Promise<unknown> {
  let status: unknown
  for await (const { type, data } of connection.events(runId)) {
    if (type === 'RunCompleted') status = isJsonObject(data.output ?? null) ? (data.output as JsonObject).status : data
    if (type === 'RunCompensated') status = data.status
  }
  return status
}
