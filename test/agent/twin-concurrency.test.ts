import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { suite } from 'uvu'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { TEST_SEED } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { observedTogether, TOGETHER, type Together } from '../support/twin-concurrency.ts'
import { mustBeSame } from '../support/twin-log.ts'
import { within } from '../support/within.ts'
import { HOMES, killedAfter, type TestHome } from './homes.ts'

type Life = ReturnType<typeof observedTogether>

function life(home: TestHome, program: readonly Together[], change?: Parameters<TestHome['process']>[0]): Life {
  return observedTogether(home.process(change) as unknown as Countersign<unknown>, program)
}

const run = ({ cs, body }: Life, id: string): Promise<unknown> =>
  cs.run({ id, name: 'twin', whenOwned: 'take-over' }, body)

/** The record alone gives the program what it saw, from the ledger and from a file. */
async function replayed(home: TestHome, program: readonly Together[], of: { id: string; log: readonly string[] }) {
  const folder = await mkdtemp(join(tmpdir(), 'twin-'))
  try {
    const file = join(folder, 'run.jsonl')
    await writeFile(file, await home.connection.exportRun(of.id))
    for (const source of [of.id, { file }]) {
      const again = life(home, program)
      const replaying = again.cs.replay(source, again.body as never)
      // Where it diverges, what was seen before says why.
      await replaying.catch(() => mustBeSame(again.log, of.log.slice(0, again.log.length), 'until it diverged'))
      await replaying
      mustBeSame(again.log, of.log, 'a replay sees what was seen live')
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Killed after so many commands: the resumed life sees what the first saw, in that order, and a replay what both saw. */
async function killed(
  home: TestHome,
  program: readonly Together[],
  { id, commands }: { id: string; commands: number },
) {
  const { change, dead } = killedAfter(commands, commands % 2 === 0)
  const first = life(home, program, change)
  const ended = run(first, id).then(
    () => true,
    () => true,
  )
  const isOver = await within(Promise.race([dead.then(() => false), ended]), 'death or end')
  const before = [...first.log]
  const second = life(home, program)
  await within(run(second, id), 'the resumed life')
  // Its end may have arrived with the last command: then the body is not run again.
  const log = second.log.length === 0 ? before : second.log
  mustBeSame(log.slice(0, before.length), before, `killed after ${commands}: the resumed life sees what the first saw`)
  await replayed(home, program, { id, log })
  return isOver
}

const RUNS: Readonly<Record<string, number>> = { 'in process': rounds(8, 80), 'over HTTP': rounds(2, 20) }
const TICK_MS = 2

for (const { name, open } of HOMES) {
  const twin = suite(`twin concurrency ${name}`)

  twin(
    'pools, races, counters and waits see the same order live, killed and resumed, and replayed (RUN-170, RUN-171)',
    async () => {
      await using home = await open()
      const ticking = setInterval(() => {
        home.clock.nowMs += TICK_MS
      }, TICK_MS)
      let [number, kills] = [0, 0]
      try {
        await fc.assert(
          fc.asyncProperty(TOGETHER, fc.integer({ min: 2, max: 30 }), async (program, commands) => {
            number += 1
            const whole = life(home, program)
            await within(run(whole, `whole-${number}`), 'the run')
            await replayed(home, program, { id: `whole-${number}`, log: whole.log })
            kills += (await killed(home, program, { id: `killed-${number}`, commands })) ? 0 : 1
          }),
          { numRuns: RUNS[name] ?? 1, seed: TEST_SEED, includeErrorInReport: true },
        )
      } finally {
        clearInterval(ticking)
        console.log(`twin concurrency ${name}: seed ${TEST_SEED}, ${number} programs, ${kills} kills`)
      }
    },
  )

  twin.run()
}
