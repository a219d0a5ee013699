import { suite } from 'uvu'
import { AIRLINE_RUNS, SKIPPED } from '../support/airline-runs.ts'
import { moveThereAndBack } from '../support/moved-ledger.ts'

const test = suite('100 real runs that move between stores')

test('imported on a server, copied into a file and on to another server: every digest, mac and root is the same, and all verify', async () => {
  if (AIRLINE_RUNS === undefined) return void process.stdout.write(SKIPPED)
  await moveThereAndBack({ path: AIRLINE_RUNS, runs: 100 })
})

test.run()
