import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { TEST_SEED } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { livePrograms } from '../support/twin-lives.ts'
import { HOMES } from './homes.ts'

/** No program is begun after so long: a machine that is slow lives fewer of them. */
const SHARE_MS: Readonly<Record<string, number>> = { 'in process': 30_000, 'over HTTP': 15_000 }

for (const { name, open } of HOMES) {
  const twin = suite(`twin surface ${name}`)
  twin(
    'tools of all options, waits, approvals, sagas, forks, nested runs and agents see the same whole, killed at any command and resumed, and replayed (RUN-194)',
    async () => {
      await using home = await open()
      const endMs = Date.now() + rounds(1, 1, 20) * (SHARE_MS[name] ?? 0)
      const goesOn = (): boolean => Date.now() < endMs
      const programs = rounds(1, 150, 1_000)
      const lived = await livePrograms(home, { programs, seed: TEST_SEED, every: rounds(6, 6, 30), goesOn })
      console.log(`twin surface ${name}: seed ${TEST_SEED}, ${lived.programs} programs, ${lived.kills} kills`)
      assert.ok(lived.kills > 0)
    },
  )

  twin.run()
}
