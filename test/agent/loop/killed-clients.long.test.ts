import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Countersign } from '../../../src/agent/runtime/runtime.ts'
import { rounds } from '../../support/rounds.ts'
import { HOMES, shortLife } from '../homes.ts'
import { bodyOf, type Effects, isOnce, LOOPS, type Loop } from './client-loops.ts'

function kept(): { readonly lines: string[]; readonly effects: Effects } {
  const lines: string[] = []
  return { lines, effects: { add: (line) => void lines.push(line), has: (line) => lines.includes(line) } }
}

function life(
  cs: Countersign,
  { id, effects, loop, turns }: { id: string; effects: Effects; loop: Loop; turns: number },
): Promise<string> {
  return cs.run({ id, name: 'agent' }, bodyOf(cs, { effects, loop, turns }))
}

for (const { name, open } of HOMES) {
  const clients = suite(`agents with their client packages, killed ${name}`)

  for (const [what, loop] of Object.entries(LOOPS)) {
    clients(
      `${what}: resumed after any death, the transcript is the one of a whole run, and what has effects was done once`,
      async () => {
        await using home = await open()
        const kills = fc.array(fc.record({ commands: fc.integer({ min: 1, max: 25 }), lastArrives: fc.boolean() }), {
          minLength: 1,
          maxLength: 4,
        })
        const turnsMax = rounds(8, 40, 300)
        let number = 0
        await fc.assert(
          fc.asyncProperty(fc.integer({ min: 1, max: turnsMax }), kills, async (turns, deaths) => {
            number += 1
            const whole = await life(home.process(), { id: `whole-${number}`, effects: kept().effects, loop, turns })
            const id = `killed-${number}`
            const { lines, effects } = kept()
            for (const { commands, lastArrives } of deaths) {
              await shortLife(home, { at: commands, lastArrives }, (cs) => life(cs, { id, effects, loop, turns }))
            }
            assert.is(await life(home.process(), { id, effects, loop, turns }), whole)
            const changing = lines.filter(isOnce)
            assert.equal([...new Set(changing)].length, changing.length, 'an effect was made twice')
            const made = lines.length
            const cs = home.process()
            assert.is((await cs.replay(id, bodyOf(cs, { effects, loop, turns }))).output, whole)
            assert.is(lines.length, made, 'a replay does nothing')
          }),
          { numRuns: rounds(2, name === 'in process' ? 4 : 2, name === 'in process' ? 12 : 3) },
        )
      },
    )
  }

  clients.run()
}
