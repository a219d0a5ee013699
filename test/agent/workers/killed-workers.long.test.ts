/** Workers that are killed at random, on the store under test: every run ends once, every effect happens once, nobody starves, and what diverges stops nobody. */
import { suite } from 'uvu'
import { testSeed } from '../../support/random.ts'
import { rounds } from '../../support/rounds.ts'
import { surviveKills } from './killed-workers.ts'

const test = suite('workers that are killed')

const RUNS = rounds(40, 80, 2_000)
const KILLS = rounds(4, 8, 200)
/** Less than what the runner gives a file: the test says then which run has not ended. */
const LONG_MS = rounds(4, 9, 100) * 60_000

for (const { workers, ledgers } of [
  { workers: 2, ledgers: 1 },
  { workers: 4, ledgers: 2 },
]) {
  test(`${workers} workers, ${RUNS} runs with approvals, sleeps, signals and runs within them, ${KILLS} kills: each run ends once, each effect is one (RUN-222, RUN-223, RUN-224, RUN-226)`, async () => {
    await surviveKills({ workers, ledgers, runs: RUNS, kills: KILLS, seed: testSeed(workers), withinMs: LONG_MS })
  })
}

test.run()
