/** @module A program's lives: whole, killed at a command and resumed, replayed from the ledger and from a file. All of them see the same. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { bufferCodec, dateCodec, mapCodec } from '../../src/agent/calls/codecs.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { killedAfter, LONG_MS, type TestHome } from '../agent/homes.ts'
import { mustBeSame } from './twin-log.ts'
import { Outside } from './twin-part.ts'
import { normal, type Observed, seen, shown } from './twin-programs.ts'
import { observedSurface, SURFACE, type Surface } from './twin-surface.ts'
import { within } from './within.ts'

const CODECS = [dateCodec, mapCodec, bufferCodec]
const INPUT = { z: 1, cents: 5, a: { y: 1, b: 2 } }
/** Room for large requests of models that were lost with their process, which are charged beside those made again (RUN-235). */
const BUDGET = { tokens: 100_000_000 }
const TICK_MS = 2

interface Life extends Observed {
  readonly cs: Countersign<unknown>
}

/** The home, and somebody in it who decides: what is named `denied` is denied. */
export interface Decided {
  readonly home: TestHome
  readonly boss: Countersign
}

function life(
  { home, boss }: Decided,
  program: Surface,
  world: Outside,
  change?: Parameters<TestHome['process']>[0],
): Life {
  const onApproval = ({ tool, ...approval }: Parameters<Countersign['approvals']['grant']>[0] & { tool: string }) => {
    // Decided already where an earlier life was told of it, too.
    boss.approvals[tool.startsWith('denied') ? 'deny' : 'grant'](approval).catch(() => undefined)
  }
  const cs = home.process(change, { codecs: CODECS as never, onApproval }) as unknown as Countersign<unknown>
  return { cs, ...observedSurface(cs, program, world) }
}

/** How it ended, as text. One that is killed never does. */
function begun({ cs, body }: Life, id: string, more: object = {}): Promise<string> {
  return cs.run({ id, name: 'twin', input: INPUT, budget: BUDGET, ...more }, body as never).then(
    (output) => `gives ${shown(output)}`,
    (error: unknown) => `throws ${seen(error)}, ${outcomeOf(error)?.status}`,
  )
}

const run = (one: Life, id: string, more?: object): Promise<string> => within(begun(one, id, more), `the run ${id}`)

interface Whole {
  readonly log: readonly string[]
  readonly ended: string
  readonly effects: string
}

/** The record alone gives the program what it saw, from the ledger and from a file. */
async function replayed(at: Decided, program: Surface, of: { id: string; log: readonly string[] }): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'twin-'))
  try {
    const file = join(folder, 'run.jsonl')
    await writeFile(file, await at.home.connection.exportRun(of.id))
    for (const source of [of.id, { file }]) {
      const world = new Outside()
      const again = life(at, program, world)
      const replaying = within(again.cs.replay(source, again.body as never), `the replay of ${of.id}`)
      const from = typeof source === 'string' ? 'the ledger' : 'a file'
      // Where it diverges, what was seen before says why.
      await replaying.catch(() =>
        mustBeSame(again.log, of.log.slice(0, again.log.length), `replayed from ${from}, until it diverged`),
      )
      await replaying
      mustBeSame(again.log, of.log, `a replay from ${from} sees what was seen live`)
      assert.is(world.effects, new Outside().effects, 'a replay does nothing')
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Killed after so many commands, and resumed: the resumed life sees what the first saw, and goes on as the whole one went. Gives whether the first life ended before. */
async function killed(
  at: Decided,
  program: Surface,
  { id, commands, lastArrives, whole }: { id: string; commands: number; lastArrives: boolean; whole: Whole },
): Promise<boolean> {
  const world = new Outside()
  const { change, dead } = killedAfter(commands, lastArrives)
  const first = life(at, program, world, change)
  const ended = begun(first, id).then(() => true)
  const isOver = await within(Promise.race([dead.then(() => false), ended]), 'death or end')
  const before = [...first.log]
  const takesOver = commands % 3 === 0
  if (!takesOver) at.home.clock.nowMs += LONG_MS
  const second = life(at, program, world)
  const came = await run(second, id, takesOver ? { whenOwned: 'take-over' } : {})
  const what = `killed after ${commands}, which ${lastArrives ? 'arrived' : 'did not arrive'}`
  // Its end, or the beginning of its rollback, may have arrived with the last command: then the body is not run again.
  if (!isOver && second.log.length > 0) {
    mustBeSame(second.log.slice(0, before.length), before, `${what}: the resumed life sees what the first saw`)
    mustBeSame(second.log.map(normal), whole.log.map(normal), `${what}: it goes on as the whole one`)
    assert.is(normal(came), normal(whole.ended), `${what}: it ends as the whole one`)
    if (commands % 5 === 0) await replayed(at, program, { id, log: second.log })
  }
  assert.is(world.effects, whole.effects, `${what}: each effect once`)
  return isOver
}

/** After which commands a program is killed: one, each of them, or so many, which begin at one that is drawn and are evenly apart. */
export type Kills = number | 'every' | { readonly share: number; readonly drawn: number }

/** One program: whole, replayed, and killed. Gives how often it was killed. */
async function oneProgram(
  at: Decided,
  program: Surface,
  { name, kill, goesOn }: { name: string; kill: Kills; goesOn: () => boolean },
): Promise<number> {
  const world = new Outside()
  const { change, asked } = killedAfter(Number.POSITIVE_INFINITY, true)
  const live = life(at, program, world, change)
  const ended = await run(live, name)
  const whole: Whole = { log: [...live.log], ended, effects: world.effects }
  await replayed(at, program, { id: name, log: whole.log })
  const apart = typeof kill === 'object' ? Math.max(1, Math.ceil(asked() / kill.share)) : 1
  const first = typeof kill === 'object' ? 1 + (kill.drawn % apart) : kill === 'every' ? 1 : kill
  for (let [commands, kills] = [first, 1]; ; commands += apart, kills += 1) {
    const one = { id: `${name}-${commands}`, commands, lastArrives: (commands + name.length) % 2 === 0, whole }
    if ((await killed(at, program, one)) || typeof kill === 'number' || !goesOn()) return kills
  }
}

interface Lives {
  readonly programs: number
  readonly seed: number
  /** Killed at every command, or at one that is drawn, or at so many. */
  readonly every: boolean | number
  readonly goesOn?: () => boolean
  /** Hears of each program when it is over, and of each difference when it is met: shrinking may take long. */
  readonly told?: (line: string) => void
  /** Hears of each difference with its program, and the next program is lived; absent: the first one is shrunk and thrown. */
  readonly differs?: (program: string, error: unknown) => void
}

/** Draws programs and lives them. Gives how many there were, and how often they were killed. */
export async function livePrograms(
  home: TestHome,
  { programs, seed, every, goesOn = () => true, told = () => undefined, differs }: Lives,
): Promise<{ readonly programs: number; readonly kills: number }> {
  let [number, kills] = [0, 0]
  await whileTicking(home, (at) =>
    fc.assert(
      fc.asyncProperty(SURFACE, fc.integer({ min: 2, max: 30 }), async (program, drawn) => {
        if (!goesOn()) return
        number += 1
        const beganMs = performance.now()
        const what = `${number} ${program.does.map(({ kind, which }) => `${kind} ${which}`).join(', ')}`
        const over = (how: string): void => told(`${what}: ${how}, ${Math.round(performance.now() - beganMs)} ms`)
        try {
          const times = await oneProgram(at, program, {
            name: `twin-${number}`,
            kill: killsOf(every, number, drawn),
            goesOn,
          })
          kills += times
          over(`${times} kills`)
        } catch (error) {
          over(`failed, ${error instanceof Error ? error.message : String(error)}`)
          if (differs === undefined) throw error
          differs(fc.stringify(program), error)
        }
      }),
      { numRuns: programs, seed, includeErrorInReport: true },
    ),
  )
  return { programs: number, kills }
}

/** One program in so many is killed at every command, however many there are. */
const EVERY_IN = 25

function killsOf(every: Lives['every'], number: number, drawn: number): Kills {
  if (typeof every === 'boolean') return every ? 'every' : drawn
  return number % EVERY_IN === 0 ? 'every' : { share: every, drawn }
}

/** Lives one program; `kill`: after which command, or after each of them. Gives how often it was killed. */
export async function liveProgram(
  home: TestHome,
  program: Surface,
  { name, kill }: { readonly name: string; readonly kill: number | 'every' },
): Promise<number> {
  return whileTicking(home, (at) => oneProgram(at, program, { name, kill, goesOn: () => true }))
}

/** Leases and waits end while it works. */
async function whileTicking<T>(home: TestHome, work: (at: Decided) => Promise<T>): Promise<T> {
  const at = { home, boss: await home.as('boss') }
  const ticking = setInterval(() => {
    home.clock.nowMs += TICK_MS
  }, TICK_MS)
  try {
    return await work(at)
  } finally {
    clearInterval(ticking)
  }
}
