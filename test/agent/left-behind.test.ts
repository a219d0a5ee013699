/** Code whose work is left behind by a fork, a race or an abort resumes and replays, however fast it is in another life. */
import { setTimeout as delay } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../schemas/json.ts'
import type { Connection } from '../../src/agent/runtime/connection.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { UnreachableError } from '../../src/client/errors.ts'
import { rounds } from '../support/rounds.ts'
import { within } from '../support/within.ts'
import { HOMES, killedAfter, LONG_MS, NO_WAIT, shortLife, type TestHome } from './homes.ts'

/** What the tools have done over all lives. */
class World {
  readonly done = new Map<string, string>()
  readonly ran: string[] = []
  /** By the keys of the compensations, which are repeated where nobody knows of their end. */
  readonly undone = new Map<string, string>()
}

/** Milliseconds of the code's own that it takes in one life before each call. */
interface Pace {
  readonly winner: number
  readonly loser: number
}

interface Life {
  readonly cs: Countersign
  readonly run: Run<null>
  readonly act: (what: string) => Promise<string>
  readonly fail: (what: string) => Promise<string>
  readonly pace: Pace
}

type Program = (life: Life) => Promise<Json>

function bodyOf(cs: Countersign, world: World, { program, pace }: { program: Program; pace: Pace }) {
  const act = cs.tool({
    name: 'act',
    onUnknown: 'retry',
    backoff: NO_WAIT,
    execute: (what: string, { idempotencyKey }: { idempotencyKey: string }) => {
      world.ran.push(what)
      world.done.set(idempotencyKey, what)
      return what
    },
    check: (_, { idempotencyKey }) => {
      const what = world.done.get(idempotencyKey)
      return what === undefined ? { done: false } : { done: true, result: what }
    },
    compensate: ({ args }, { idempotencyKey }) => void world.undone.set(idempotencyKey, String(args)),
  })
  const fail = cs.tool({
    name: 'fail',
    retries: 0,
    effects: 'none',
    execute: (what: string): string => {
      throw new Error(`no ${what}`)
    },
  })
  return (run: Run<null>) => program({ cs, run, act, fail, pace })
}

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason))
  })

/** The first branch wins; each other makes so many calls and then goes on until it is stopped. */
const raced =
  (losers: number, calls: number): Program =>
  async ({ run, act, pace }) => {
    const winner = {
      agent: 'winner',
      run: async () => {
        for (const n of [1, 2]) {
          await delay(pace.winner)
          await act(`winner ${n}`)
        }
        return { by: 'winner' }
      },
    }
    const others = Array.from({ length: losers }, (_, side) => ({
      agent: `loser-${side}`,
      run: async (_: unknown, { signal }: { signal: AbortSignal }) => {
        for (let n = 1; n <= calls; n += 1) {
          await delay(pace.loser)
          await act(`loser ${side}.${n}`)
        }
        return untilAborted(signal)
      },
    }))
    const { winners } = await run.fork([winner, ...others], { join: 'first_wins' })
    return [...winners, await act('after')]
  }

const chain = async ({ act, pace }: Life, name: string): Promise<string> => {
  for (const n of [1, 2, 3]) {
    await delay(pace.loser)
    await act(`${name} ${n}`)
  }
  return name
}

const PLAIN: Record<string, Program> = {
  'a race of a call with a time': async ({ run, act }) => {
    const first = await Promise.race([act('call'), run.sleep(30).then(() => 'time')])
    return [first, await act('after')]
  },
  'any of calls that fail and one that does not': async ({ act, fail, pace }) => {
    const first = await Promise.any([fail('a'), delay(pace.winner).then(() => act('call')), fail('b')])
    return [first, await act('after')]
  },
  'branches of which one ends by an error that is caught': async (life) => {
    const branches = [chain(life, 'left'), delay(life.pace.winner).then(() => life.fail('right'))]
    const ends = await Promise.allSettled(branches)
    return [...ends.map(({ status }) => status), await life.act('after')]
  },
  'a union of which one branch fails': async (life) => {
    const { run, act, fail, pace } = life
    const { winners } = await run.fork(
      [
        { agent: 'left', run: async () => ({ left: await chain(life, 'left') }) },
        { agent: 'right', run: () => delay(pace.winner).then(async () => ({ right: await fail('right') })) },
      ],
      { join: 'union' },
    )
    return [...winners, await act('after')]
  },
  'a race within a branch that loses a race': async (life) => {
    const { run, act, pace } = life
    const inner = async (_: unknown, { signal }: { signal: AbortSignal }) => {
      await Promise.race([chain(life, 'inner'), act('call')])
      await run.once('value', () => 1)
      return untilAborted(signal)
    }
    const winner = async () => ({ by: await delay(pace.winner).then(() => act('winner')) })
    const { winners } = await run.fork(
      [
        { agent: 'loser', run: inner },
        { agent: 'winner', run: winner },
      ],
      { join: 'first_wins' },
    )
    return [...winners, await act('after')]
  },
}

interface Given {
  readonly id: string
  readonly program: Program
  readonly paces: readonly Pace[]
}

/** Killed after so many commands and resumed, with another pace; whether it died before its end. */
async function survives(home: TestHome, at: number, given: Given) {
  const { id, program, paces } = given
  const [live = SAME, later = SAME] = paces
  const world = new World()
  let isOver = false
  await shortLife(home, { at, lastArrives: true }, async (cs) => {
    await cs.run({ id, name: 'p' }, bodyOf(cs, world, { program, pace: live }))
    isOver = true
  })
  const cs = home.process()
  const output = await within(cs.run({ id, name: 'p' }, bodyOf(cs, world, { program, pace: later })), `resume ${id}`)
  assert.equal(world.ran, [...new Set(world.ran)], `${id}: each effect once`)
  const undone = [...world.undone.values()]
  assert.equal(undone, [...new Set(undone)], `${id}: each undone once`)
  const effects = world.ran.length
  const again = home.process()
  const replayed = await again.replay(id, bodyOf(again, world, { program, pace: later }))
  assert.is(replayed.verdict, 'exact', id)
  assert.equal(replayed.output, output, id)
  assert.is(world.ran.length, effects, 'a replay calls nothing')
  return { isOver, output }
}

const SAME: Pace = { winner: 1, loser: 1 }
const SLOW_MS = 25
const PACES: Record<string, readonly Pace[]> = {
  slower: [
    { winner: 12, loser: 0 },
    { winner: 0, loser: SLOW_MS },
  ],
  faster: [
    { winner: 2, loser: 6 },
    { winner: SLOW_MS, loser: 0 },
  ],
  later: [
    { winner: 2, loser: 6 },
    { winner: 0, loser: SLOW_MS },
  ],
}
/** How many branches lose, and with how many calls each. */
const FORKS: readonly (readonly [number, number])[] = [
  [1, 1],
  [2, 2],
  ...(rounds(0, 1) === 0
    ? []
    : ([
        [1, 0],
        [1, 2],
        [1, 3],
        [2, 0],
        [2, 1],
        [2, 3],
      ] as const)),
]
/** Beyond the commands of each program. */
const COMMANDS_MAX = 60

for (const { name, open } of HOMES) {
  const test = suite(`work that is left behind ${name}`)
  const step = name === 'in process' ? rounds(5, 2) : rounds(11, 5)

  /** Killed at its commands, with each change of pace. */
  async function atEach(label: string, program: Program, { output }: { readonly output?: Json } = {}): Promise<void> {
    await using home = await open()
    const ticking = setInterval(() => (home.clock.nowMs += 2), 2)
    try {
      for (const [how, paces] of Object.entries(PACES))
        for (let at = 2; at < COMMANDS_MAX; at += step) {
          const given = { id: `${label}-${how}-${at}`, program, paces }
          const came = await survives(home, at, given)
          if (output !== undefined) assert.equal(came.output, output)
          if (came.isOver) break
        }
    } finally {
      clearInterval(ticking)
    }
  }

  for (const [losers, calls] of FORKS)
    test(`first_wins, ${losers} that lose with ${calls} calls each (RUN-187, RUN-248, A485)`, () =>
      atEach(`fork-${losers}-${calls}`, raced(losers, calls), { output: ['winner', 'after'] }))

  for (const [n, [what, program]] of Object.entries(PLAIN).entries())
    test(`${what} (RUN-187, RUN-248)`, () => atEach(`plain-${n}`, program))

  test('what ran without the ledger comes before what is recorded, in every later life (RUN-187, RUN-249, A486)', async () => {
    await using home = await open()
    const ran: string[] = []
    const bodyIn = (cs: Countersign) => {
      const note = cs.tool((what: string) => ran.push(`note ${what}`), { name: 'note', unreachable: 'run' })
      const act = cs.tool((what: string) => ran.push(what) && what, { name: 'act', onUnknown: 'retry' })
      return async () => {
        const seen: unknown[] = []
        await note('began').then(() => seen.push('noted'))
        for (const what of ['one', 'two', 'three']) seen.push(await act(what))
        return seen as Json
      }
    }
    const die = async (commands: number, outOfReach: boolean): Promise<void> => {
      const { change, dead } = killedAfter(commands, true)
      const cs = home.process((connection) =>
        outOfReach ? withoutClaims(change(connection), 'note') : change(connection),
      )
      void cs.run({ id: 'r' }, bodyIn(cs)).catch(() => undefined)
      await within(dead, 'the death')
      home.clock.nowMs += LONG_MS
    }
    // The start, claim and outcome of the first call; then the start, the note, and the second call.
    await die(3, true)
    assert.equal(ran, ['note began', 'one'])
    await die(5, false)
    assert.equal(ran, ['note began', 'one', 'note began', 'two'])
    const cs = home.process()
    const output = await within(cs.run({ id: 'r' }, bodyIn(cs)))
    assert.equal(output, ['noted', 'one', 'two', 'three'])
    assert.is(ran.length, 5)
    const again = home.process()
    assert.equal((await again.replay('r', bodyIn(again))).output, output)
  })

  test('calls of a tool that may run without the ledger do not hold each other up (RUN-249, RUN-254, A535)', async () => {
    await using home = await open()
    const ran: string[] = []
    const bodyIn = (cs: Countersign) => {
      const note = cs.tool((what: string) => ran.push(what) && what, { name: 'note', unreachable: 'run' })
      return async () => [await note('first'), await note('second'), await note('third')] as Json
    }
    const { change, dead } = killedAfter(3, true)
    let isFirst = true
    const cs = home.process((connection) => {
      const connected = change(connection)
      const cut = withoutClaims(connected, 'note')
      return {
        ...connected,
        execute: (runId, command, more) => {
          const at = command.kind === 'claim' && isFirst ? cut : connected
          if (command.kind === 'claim') isFirst = false
          return at.execute(runId, command, more)
        },
      }
    })
    void cs.run({ id: 'r' }, bodyIn(cs)).catch(() => undefined)
    await within(dead, 'the death')
    home.clock.nowMs += LONG_MS
    const expected = ['first', 'second', 'third']
    const again = home.process()
    assert.equal(await within(again.run({ id: 'r' }, bodyIn(again))), expected)
    const replaying = home.process()
    assert.equal((await replaying.replay('r', bodyIn(replaying))).output, expected)
  })

  test('code that returns before work that it let go of asks for what is recorded waits for that (RUN-250, A487)', async () => {
    await using home = await open()
    const world = new World()
    const program =
      (ms: number, isBegun: Promise<unknown>): Program =>
      async ({ act }) => {
        const left = async (): Promise<void> => {
          await act('first')
          await delay(ms)
          await act('second')
        }
        left().catch(() => undefined)
        await act('call')
        await isBegun
        return 'over'
      }
    const bodyIn = (cs: Countersign, ms: number, isBegun: Promise<unknown> = Promise.resolve()) =>
      bodyOf(cs, world, { program: program(ms, isBegun), pace: SAME })
    // The start, two claims at once, two outcomes, and the claim of the second call, while the body goes on.
    const never = new Promise(() => undefined)
    await shortLife(home, { at: 5, lastArrives: true }, (cs) => cs.run({ id: 'r' }, bodyIn(cs, 0, never)))
    const cs = home.process()
    assert.is(await within(cs.run({ id: 'r' }, bodyIn(cs, SLOW_MS))), 'over')
    assert.equal(world.ran.toSorted(), ['call', 'first', 'second'])
    const again = home.process()
    assert.is((await again.replay('r', bodyIn(again, SLOW_MS))).output, 'over')
  })

  test('a resume does not wait again before a try of a saga that is recorded (RUN-251)', async () => {
    await using home = await open()
    const ran: string[] = []
    const bodyIn = (cs: Countersign, isFirst: boolean) => {
      const step = cs.tool(() => ran.push('step'), {
        name: 'step',
        compensate: () => ran.push('undo'),
        onUnknown: 'retry',
      })
      const backoff = { type: 'fixed', delayMs: 1_500 } as const
      const last = cs.tool(() => (ran.includes('undo') ? 'done' : Promise.reject(new Error('not yet'))), {
        name: 'last',
        effects: 'none',
        ...{ retries: 1, retryScope: 'transaction', backoff },
      })
      const beside = cs.tool(() => ran.push('beside'), { name: 'beside' })
      return async (run: Run<null>) => {
        const [{ status }] = await Promise.all([
          run.saga([{ tool: step }, { tool: last }]),
          isFirst ? new Promise<never>(() => undefined) : beside(),
        ])
        return status
      }
    }
    const { promise: dead, resolve: die } = Promise.withResolvers<void>()
    let isDead = false
    const mortal = (connection: Connection): Connection => ({
      ...connection,
      execute: async (runId, command, ...more) => {
        if (isDead) return new Promise(() => undefined)
        const reply = await connection.execute(runId, command, ...more)
        if (command.kind !== 'claim' || command.body.scope?.endsWith('.2') !== true) return reply
        isDead = true
        die()
        return new Promise(() => undefined)
      },
    })
    const first = home.process(mortal)
    void first.run({ id: 'r' }, bodyIn(first, true))
    await within(dead, 'the second try')
    home.clock.nowMs += LONG_MS
    const cs = home.process()
    assert.is(await within(cs.run({ id: 'r' }, bodyIn(cs, false))), 'SUCCESS')
    assert.equal(ran.toSorted(), ['beside', 'step', 'step', 'undo'])
  })

  test.run()
}

/** The ledger is out of reach for the claims of this tool. */
function withoutClaims(connection: Connection, tool: string): Connection {
  return {
    ...connection,
    execute: (runId, command, ...more) =>
      command.kind === 'claim' && command.body.tool === tool
        ? Promise.reject(new UnreachableError('gone'))
        : connection.execute(runId, command, ...more),
  }
}
