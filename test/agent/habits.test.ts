import { suite } from 'uvu'
import { seededRandom, testSeed } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { HABITS } from '../support/twin-habits.ts'
import { liveProgram } from '../support/twin-lives.ts'
import { HOMES } from './homes.ts'

const SEED = testSeed(1)
const IS_LONG = rounds(0, 1) === 1
/** Over HTTP in the long suite alone. */
const PLACES = IS_LONG ? HOMES : HOMES.slice(0, 1)
const WAYS = rounds(1, 3)
const KILL_MAX = 14

for (const { name, open } of PLACES) {
  const habits = suite(`programs as their authors write them, ${name}`)

  for (const [nth, kind] of Object.keys(HABITS).entries()) {
    habits(
      `${kind}: sees the same whole, killed and resumed, and replayed from the ledger and from a file (RUN-194, RUN-236)`,
      async () => {
        const random = seededRandom(SEED + nth)
        await using home = await open()
        for (let way = 0; way < WAYS; way += 1) {
          const one = { kind, which: IS_LONG ? way : Math.floor(random() * 6), gives: { z: 1, a: [null] }, chars: 10 }
          const kill = IS_LONG ? 'every' : 2 + Math.floor(random() * KILL_MAX)
          const kills = await liveProgram(home, { does: [one], end: 'returns' }, { name: `${kind}-${way}`, kill })
          if (IS_LONG) console.log(`${kind} ${way} ${name}: seed ${SEED}, ${kills} kills`)
        }
      },
    )
  }

  habits.run()
}
