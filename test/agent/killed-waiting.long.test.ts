import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RunWaiting } from '../../src/agent/errors.ts'
import type { RunEvent } from '../../src/agent/runtime/connection.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { seededRandom, testSeed } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { within } from '../support/within.ts'
import { EVENTSTOREDB_HOME, HOMES, killedAfter, LONG_MS, NO_WAIT, type TestHome } from './homes.ts'

/** Programs, each killed at moments of its own until it ends; more where it is requested. */
const PROGRAMS = Number(process.env.COUNTERSIGN_TEST_KILLS ?? rounds(40, 40, 150))
const PROGRAMS_ON_EVENTSTOREDB = Math.ceil(PROGRAMS / 5)
const COMMANDS_MAX = 24
const LIVES_MAX = 40

/** What was really done and undone, and how often. */
class Bank {
  readonly deeds = new Map<string, number>()
  readonly undone = new Map<string, number>()

  tools(cs: Countersign) {
    const count = (book: Map<string, number>, what: string) => book.set(what, (book.get(what) ?? 0) + 1)
    const tool = (name: string, approve: boolean) =>
      cs.tool((what: string) => count(this.deeds, what) && what, {
        name,
        approve,
        backoff: NO_WAIT,
        check: ([what]) => (this.deeds.has(what) ? { done: true, result: what } : { done: false }),
        compensate: {
          run: ({ args: [what] }) => count(this.undone, what),
          check: ({ args: [what] }) => (this.undone.has(what) ? { done: true, result: 0 } : { done: false }),
        },
      })
    return { book: tool('book', false), pay: tool('pay', true) }
  }
}

/** A trip with a run within it, an approval, signals, a sleep and, where the answer is no, an undo. */
function trip(cs: Countersign, bank: Bank): Promise<string> {
  const { book, pay } = bank.tools(cs)
  return cs.run({ id: 'trip', name: 'trip', whenWaiting: 'leave' }, async (run) => {
    await book('taxi')
    await cs.run({ name: 'stay' }, async (stay) => {
      await book('hotel')
      await stay.waitFor('key')
    })
    await pay('deposit')
    await run.sleep(1_000)
    if ((await run.waitFor<boolean>('go')) !== true) throw new Error('called off')
    return 'gone'
  })
}

/** What happens outside, again and again: somebody says yes, and signals come, each under one id. */
async function world(home: TestHome, bank: Bank, go: boolean): Promise<void> {
  const cs = home.process()
  bank.tools(cs)
  const { waiting } = await cs.recover()
  for (const { runId, waitsFor } of waiting) {
    for (const { for: what, name = '' } of waitsFor) {
      if (what === 'signal') await cs.signal(runId, name, name === 'go' ? go : null, { requestId: `${runId} ${name}` })
    }
  }
  const bob = await home.as('bob')
  for await (const approval of bob.approvals.list()) await bob.approvals.grant(approval)
  home.clock.nowMs += LONG_MS
}

/** No approval admits two calls, no payment was claimed before its yes, no signal was taken twice. */
async function holds(home: TestHome, why: string): Promise<void> {
  const claims = new Map<string, Set<string>>()
  const granted = new Set<string>()
  const taken: string[] = []
  for await (const event of home.connection.events('trip')) fold(event)
  for (const calls of claims.values()) assert.is(calls.size, 1, why)
  assert.is(new Set(taken).size, taken.length, why)
  assert.ok(taken.length <= 1, why)

  function fold({ type, data }: RunEvent): void {
    const approval = String(data.approvalId)
    if (type === 'ApprovalGranted') granted.add(approval)
    if (type === 'ToolCallClaimed' && data.tool === 'pay') {
      assert.ok(granted.has(approval), `a payment has its yes first: ${why}`)
      claims.set(approval, (claims.get(approval) ?? new Set()).add(String(data.callId)))
    }
    if (type === 'SignalReceived' && data.waitId !== undefined) taken.push(String(data.signalId))
    if (type === 'WaitEnded' && data.signalId !== undefined) taken.push(String(data.signalId))
  }
}

const kinds = [
  ...HOMES.map((kind) => ({ ...kind, programs: PROGRAMS })),
  { ...EVENTSTOREDB_HOME, programs: PROGRAMS_ON_EVENTSTOREDB },
]

for (const { name, open, programs } of kinds) {
  const killed = suite(`killed while waiting ${name}`)

  killed(
    `${programs} programs with an approval, signals, a sleep, a run within the run and an undo, killed at random moments: each thing is done once and undone once, no approval is used twice, no money moves without one (RUN-62, RUN-67, A199)`,
    async () => {
      for (let program = 0; program < programs; program += 1) {
        await using home = await open()
        const bank = new Bank()
        const draw = seededRandom(testSeed(program))
        const go = program % 2 === 0
        const lives: string[] = []
        let ended: string | undefined
        while (ended === undefined && lives.length < LIVES_MAX) {
          const commands = 1 + Math.floor(draw() * COMMANDS_MAX)
          const arrives = draw() < 0.5
          lives.push(`${commands}${arrives ? '' : '-'}`)
          const { change, dead } = killedAfter(commands, arrives)
          const lived = trip(home.process(change), bank).catch((error: unknown) => error)
          await within(Promise.race([lived, dead]), `a life of program ${program}`)
          home.clock.nowMs += LONG_MS
          await world(home, bank, go)
          if (draw() < 0.5) continue
          const error = await trip(home.process(), bank).catch((thrown: unknown) => thrown)
          const verdict = outcomeOf(error)?.status
          if (error === 'gone') ended = 'completed'
          else if (verdict === 'COMPENSATED') ended = verdict
          else assert.ok(error instanceof RunWaiting, `program ${program}, lives ${lives}: ${String(error)}`)
        }
        const why = `program ${program}, lives ${lives}: ${JSON.stringify([[...bank.deeds], [...bank.undone]])}`
        assert.is(ended, go ? 'completed' : 'COMPENSATED', why)
        for (const times of [...bank.deeds.values(), ...bank.undone.values()]) assert.is(times, 1, why)
        assert.equal([...bank.deeds.keys()].sort(), ['deposit', 'hotel', 'taxi'], why)
        assert.equal([...bank.undone.keys()].sort(), go ? [] : ['deposit', 'hotel', 'taxi'], why)
        await holds(home, why)
        const left: string[] = []
        for await (const runId of home.connection.runs({ status: 'open' })) left.push(runId)
        assert.equal(left, [], why)
      }
    },
  )

  killed.run()
}
