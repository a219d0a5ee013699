import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { testSeed } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { simulate } from '../support/simulation/simulate.ts'

const simulation = suite('simulated histories')

const ONE = process.env.COUNTERSIGN_TEST_SIMULATION_SEED
const FIRST = testSeed(1)
const SEEDS = ONE === undefined ? Array.from({ length: rounds(30, 700, 10_000) }, (_, n) => FIRST + n) : [Number(ONE)]

/** What went wrong, and how to see it again. */
async function failureOf(seed: number, options = {}): Promise<string | undefined> {
  try {
    await simulate(seed, options)
    return undefined
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    return `COUNTERSIGN_TEST_SIMULATION_SEED=${seed} node scripts/test.mjs ledger/simulation # ${said}`
  }
}

simulation(
  `${SEEDS.length} histories of lost answers, kills, failing reads and wrong clocks: nothing acknowledged is lost or unseen, nothing is done twice (F56, F107)`,
  async () => {
    for (const seed of SEEDS) {
      const failure = await failureOf(seed)
      if (failure !== undefined) assert.unreachable(failure)
    }
  },
)

simulation('a seed is one history, whenever it runs', async () => {
  for (const seed of [1, 2, 3]) assert.equal(await simulate(seed), await simulate(seed))
})

simulation('a store that forgets what it acknowledged is found out', async () => {
  const seeds = Array.from({ length: 20 }, (_, n) => n + 1)
  const failures = await Promise.all(seeds.map((seed) => failureOf(seed, { lies: 0.05 })))
  assert.ok(failures.filter((failure) => failure !== undefined).length > 5)
})

simulation.run()
