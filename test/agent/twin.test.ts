import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bufferCodec, dateCodec, mapCodec } from '../../src/agent/calls/codecs.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { TEST_SEED } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { mustBeSame } from '../support/twin-log.ts'
import { normal, type Observed, observed, PROGRAM, type Step, World } from '../support/twin-programs.ts'
import { within } from '../support/within.ts'
import { HOMES, killedAfter, LONG_MS, type TestHome } from './homes.ts'

const CODECS = [dateCodec, mapCodec, bufferCodec]
const INPUT = { z: 1, cents: 5, a: { y: 1, b: 2 } }
const BUDGET = { tokens: 100_000 }

interface Life extends Observed {
  readonly cs: Countersign<unknown>
}

function life(
  home: TestHome,
  program: readonly Step[],
  world: World,
  change?: Parameters<TestHome['process']>[0],
): Life {
  const cs = home.process(change, { codecs: CODECS as never }) as unknown as Countersign<unknown>
  return { cs, ...observed(cs, program, world) }
}

const run = ({ cs, body }: Life, id: string): Promise<unknown> =>
  cs.run({ id, name: 'twin', input: INPUT, budget: BUDGET }, body as never)

/** Killed after so many commands and resumed: the resumed life sees what the first saw, and goes on as the whole one went. */
async function killed(
  home: TestHome,
  program: readonly Step[],
  at: { id: string; commands: number; whole: Life; effects: number },
) {
  const { id, commands, whole, effects } = at
  const world = new World()
  const { change, dead } = killedAfter(commands, commands % 2 === 0)
  const first = life(home, program, world, change)
  const ended = run(first, id).then(
    () => true,
    () => true,
  )
  const isOver = await within(Promise.race([dead.then(() => false), ended]), 'death or end')
  const before = [...first.log]
  home.clock.nowMs += LONG_MS
  const second = life(home, program, world)
  const output = await run(second, id)
  // Its end may have arrived with the last command: then the body is not run again.
  if (!isOver && second.log.length > 0) {
    mustBeSame(
      second.log.slice(0, before.length),
      before,
      `killed after ${commands}: the resumed life sees what the first saw`,
    )
    mustBeSame(second.log.map(normal), whole.log.map(normal), `killed after ${commands}: it goes on as the whole one`)
  }
  for (const [what, value] of [...first.inside, ...second.inside])
    assert.is(normal(value), normal(whole.inside.get(what) ?? 'not there'), what)
  assert.is(world.effects, effects, 'each effect once')
  return { isOver, output }
}

const RUNS: Readonly<Record<string, number>> = { 'in process': rounds(12, 30), 'over HTTP': rounds(2, 10) }
/** Killed at every command in the long suite, at one of them in the quick one. */
const EVERY = rounds(0, 1) === 1

for (const { name, open } of HOMES) {
  const twin = suite(`twin ${name}`)

  twin(
    'a program sees the same whole, killed at any command and resumed, and replayed (RUN-140, RUN-141)',
    async () => {
      await using home = await open()
      let [number, kills] = [0, 0]
      await fc.assert(
        fc.asyncProperty(PROGRAM, fc.nat(20), async (program, kill) => {
          number += 1
          const world = new World()
          const whole = life(home, program, world)
          const output = await run(whole, `whole-${number}`)
          const replayed = life(home, program, new World())
          const replaying = replayed.cs.replay(`whole-${number}`, replayed.body as never)
          // Where it diverges, what was seen before says why.
          await replaying.catch(() =>
            mustBeSame(replayed.log, whole.log.slice(0, replayed.log.length), 'until it diverged'),
          )
          const replay = await replaying
          mustBeSame(replayed.log, whole.log, 'a replay sees what was seen live')
          assert.equal(replay.output, output)
          for (let commands = EVERY ? 1 : kill + 1; ; commands += 1) {
            const at = { id: `killed-${number}-${commands}`, commands, whole, effects: world.effects }
            const came = await killed(home, program, at)
            kills += 1
            assert.equal(came.output, output)
            if (came.isOver || !EVERY) break
          }
        }),
        { numRuns: RUNS[name] ?? 1, seed: TEST_SEED, includeErrorInReport: true },
      )
      if (EVERY) console.log(`twin ${name}: seed ${TEST_SEED}, ${number} programs, ${kills} kills`)
    },
  )

  twin.run()
}
