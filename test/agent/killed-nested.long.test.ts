import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { OutcomeUnknown } from '../../src/agent/errors.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { seededRandom, testSeed } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { within } from '../support/within.ts'
import { HOMES, killedAfter, LONG_MS, NO_WAIT, type TestHome } from './homes.ts'

/** Moments of death; more where it is requested. */
const MOMENTS = Number(process.env.COUNTERSIGN_TEST_KILLS ?? rounds(30, 30, 60))
const COMMANDS_MAX = 40
const LIVES_MAX = 12
const random = seededRandom(testSeed(1))

/** What a bank knows: what was done and undone under which key, how often. */
class Bank {
  readonly deeds = new Map<string, number>()
  readonly undone = new Map<string, number>()

  tools(cs: Countersign) {
    const count = (book: Map<string, number>, what: string) => book.set(what, (book.get(what) ?? 0) + 1)
    const book = cs.tool((what: string) => count(this.deeds, what) && what, {
      name: 'book',
      backoff: NO_WAIT,
      check: ([what]) => (this.deeds.has(what) ? { done: true, result: what } : { done: false }),
      compensate: {
        run: ({ args: [what] }) => count(this.undone, what),
        check: ({ args: [what] }) => (this.undone.has(what) ? { done: true, result: 0 } : { done: false }),
      },
    })
    /** Executed, and nobody is told: somebody has to look. */
    const pay = cs.tool(
      (what: string): string => {
        count(this.deeds, what)
        throw new OutcomeUnknown()
      },
      {
        name: 'pay',
        backoff: NO_WAIT,
        compensate: { run: ({ args: [what] }) => count(this.undone, what), onUnknown: 'in-doubt' },
      },
    )
    return { book, pay }
  }
}

/** Somebody looks at the bank's books, and says what they find. */
async function resolveAll(home: TestHome, bank: Bank, cs: Countersign): Promise<void> {
  for (const { runId, callId, args, tool } of (await cs.recover()).inDoubt) {
    const [what = ''] = args as string[]
    const executed = (tool.endsWith('.compensate') ? bank.undone : bank.deeds).has(what)
    await cs.resolve(callId, { run: runId, executed, result: executed ? what : null, reason: 'the books say so' })
  }
  home.clock.nowMs += LONG_MS
}

for (const { name, open } of HOMES) {
  const killed = suite(`killed at random moments ${name}`)

  killed(
    `${MOMENTS} programs with runs within runs, an undo and a doubt: each thing is done once and undone once, and every run has one end (RUN-57, F110)`,
    async () => {
      for (let moment = 0; moment < MOMENTS; moment += 1) {
        await using home = await open()
        const bank = new Bank()
        const life = (cs: Countersign) => {
          const { book, pay } = bank.tools(cs)
          return cs.run({ id: 'trip' }, async () => {
            await book('taxi')
            await cs.run({ name: 'stay' }, async () => {
              await book('hotel')
              await cs.run({ name: 'meals' }, () => book('dinner'))
              await pay('deposit')
            })
          })
        }
        const at: string[] = []
        let ended: unknown
        for (let lives = 0; ended === undefined && lives < LIVES_MAX; lives += 1) {
          const commands = 1 + Math.floor(random() * COMMANDS_MAX)
          const arrives = random() < 0.5
          at.push(`${commands}${arrives ? '' : '-'}`)
          const { change, dead } = killedAfter(commands, arrives)
          const first = life(home.process(change)).catch((error: unknown) => error)
          await within(Promise.race([first, dead]), 'a life')
          home.clock.nowMs += LONG_MS
          const cs = home.process()
          bank.tools(cs)
          await resolveAll(home, bank, cs)
          const last = home.process()
          const error = await life(last).catch((thrown: unknown) => thrown)
          await resolveAll(home, bank, last)
          const { rolledBack } = await last.recover()
          const verdict = rolledBack.find(({ runId }) => runId === 'trip') ?? outcomeOf(error)
          if (error === null || verdict?.status === 'COMPENSATED') ended = error === null ? 'completed' : 'COMPENSATED'
        }
        const why = `lives ${at}: ${JSON.stringify([...bank.deeds])} ${JSON.stringify([...bank.undone])}`
        assert.ok(ended !== undefined, `it comes to an end: ${why}`)
        for (const times of [...bank.deeds.values(), ...bank.undone.values()]) assert.is(times, 1, why)
        const expected = ended === 'completed' ? [] : [...bank.deeds.keys()].sort()
        assert.equal([...bank.undone.keys()].sort(), expected, why)
        const left: string[] = []
        for await (const runId of home.connection.runs({ status: 'open' })) left.push(runId)
        assert.equal(left, [], why)
      }
    },
  )

  killed.run()
}
