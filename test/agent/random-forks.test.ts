import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { ForkFailed } from '../../src/agent/fork/fork-types.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { rounds } from '../support/rounds.ts'
import { HOMES, NO_WAIT, shortLife } from './homes.ts'

interface BranchPlan {
  readonly calls: number
  readonly end: 'valid' | 'throws' | 'contradicts'
  /** The member of the context that it sets to its own name. */
  readonly sets: 'x' | 'y'
  readonly points: number
}
interface ForkPlan {
  readonly join: 'union' | 'vote' | 'first_wins'
  readonly keep: boolean
  readonly branches: readonly BranchPlan[]
}
type Plan = readonly ForkPlan[]

const branch: fc.Arbitrary<BranchPlan> = fc.record({
  calls: fc.nat(2),
  end: fc.oneof(
    { weight: 3, arbitrary: fc.constant('valid' as const) },
    { weight: 1, arbitrary: fc.constantFrom('throws' as const, 'contradicts' as const) },
  ),
  sets: fc.constantFrom('x' as const, 'y' as const),
  points: fc.nat(2),
})
const plans: fc.Arbitrary<Plan> = fc.array(
  fc.record({
    join: fc.constantFrom('union' as const, 'vote' as const, 'first_wins' as const),
    keep: fc.boolean(),
    branches: fc.array(branch, { minLength: 1, maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 2 },
)

const FROZEN = { facts: ['one'] }
const nameOf = (fork: number, index: number): string => `f${fork}b${index}`

/** Effects by idempotency key, and the winners that each life learned of each fork. */
class World {
  readonly done = new Map<string, string>()
  readonly undone = new Map<string, string>()
  readonly told: { readonly fork: number; readonly winners: readonly string[] | string }[] = []
}

/** `hurry` decides how long each branch dawdles: another life has another order. */
function life(cs: Countersign, id: string, given: { plan: Plan; world: World; hurry: number }): Promise<Json> {
  const { plan, world, hurry } = given
  const act = cs.tool({
    name: 'act',
    onUnknown: 'retry',
    backoff: NO_WAIT,
    execute: async (what: string, { idempotencyKey }: { idempotencyKey: string }) => {
      await dawdle((hurry * world.done.size) % 5)
      world.done.set(idempotencyKey, what)
      return what
    },
    check: (_, { idempotencyKey }) =>
      world.done.has(idempotencyKey) ? { done: true, result: '' } : { done: false as const },
    compensate: ({ args }, { idempotencyKey }) => void world.undone.set(idempotencyKey, String(args)),
  })
  const forkOnce = async (run: Run<null>, f: number, { join, keep, branches }: ForkPlan): Promise<Json> => {
    const body = branches.map(({ calls, end, sets, points }, b) => ({
      agent: nameOf(f, b),
      run: async () => {
        await dawdle((hurry * (b + 1)) % 7)
        for (let n = 0; n < calls; n += 1) await act(`${nameOf(f, b)} ${n}`)
        if (end === 'throws') throw new Error('no')
        return end === 'valid' ? { [sets]: nameOf(f, b), points } : { facts: 'none' }
      },
    }))
    const onDiscard = keep ? 'keep' : 'compensate'
    try {
      const options =
        join === 'vote'
          ? ({ join, onDiscard, score: (o: JsonObject) => Number(o.points) } as const)
          : ({ join, onDiscard } as const)
      const { winners } = await run.fork(body, options)
      world.told.push({ fork: f, winners })
      return [...winners]
    } catch (error) {
      if (!(error instanceof ForkFailed)) throw error
      world.told.push({ fork: f, winners: error.code })
      return error.code
    }
  }
  return cs.run({ id, policy: { ungrounded: 'off', protect: [] } }, async (run) => {
    await run.handoff(FROZEN, { agent: 'ann' })
    const outcomes: Json[] = []
    for (const [f, fork] of plan.entries()) outcomes.push(await forkOnce(run, f, fork))
    return { outcomes, context: (await run.context()).context }
  })
}

async function dawdle(turns: number): Promise<void> {
  for (let i = 0; i < turns; i += 1) await Promise.resolve()
}

/** What a fork must come to: winners, or the code of its error. A union conflicts where two differ from the frozen value and from each other. Of a race any valid branch may win, and `told` says which did. */
function verdictOf(
  { join, branches }: ForkPlan,
  f: number,
  given: { readonly told: Json; readonly frozen: JsonObject },
): { readonly winners: Json; readonly changes: JsonObject } {
  const valid = branches.map((each, b) => ({ ...each, name: nameOf(f, b) })).filter(({ end }) => end === 'valid')
  const changesOf = (won: typeof valid) =>
    Object.assign({}, ...won.map(({ sets, name, points }) => ({ [sets]: name, points })))
  if (valid.length === 0) return { winners: 'fork-failed', changes: {} }
  if (join === 'vote') {
    const best = valid.reduce((a, b) => (b.points > a.points ? b : a))
    return { winners: [best.name], changes: changesOf([best]) }
  }
  if (join === 'first_wins') {
    const [winner] = given.told as readonly string[]
    const won = valid.filter(({ name }) => name === winner)
    assert.is(won.length, 1, 'a valid branch won')
    return { winners: [winner ?? ''], changes: changesOf(won) }
  }
  const all = valid.flatMap(({ sets, name, points }) => Object.entries({ [sets]: name, points }))
  const changed = all.filter(([place, value]) => value !== given.frozen[place])
  const changes = Object.fromEntries(changed)
  if (changed.some(([place, value]) => changes[place] !== value)) return { winners: 'fork-conflict', changes: {} }
  return { winners: valid.map(({ name }) => name), changes }
}

function check(plan: Plan, world: World, output: Json): void {
  const { outcomes, context } = output as { outcomes: readonly Json[]; context: JsonObject }
  let expected: JsonObject = FROZEN
  const [done, undone] = [world.done, world.undone].map((each) => [...each.values()].sort())
  const mustBeDone: string[] = []
  const mustBeUndone: string[] = []
  for (const [f, fork] of plan.entries()) {
    const { winners, changes } = verdictOf(fork, f, { told: outcomes[f] ?? null, frozen: expected })
    assert.equal(outcomes[f], winners)
    for (const { winners: told } of world.told.filter((each) => each.fork === f))
      assert.equal(told, winners, 'every life learns the same')
    expected = { ...expected, ...changes }
    for (const [b, { calls }] of fork.branches.entries()) {
      const name = nameOf(f, b)
      const merged = Array.isArray(winners) && winners.includes(name)
      const all = Array.from({ length: calls }, (_, n) => `${name} ${n}`)
      // Who lost a race may have been stopped before it had called all it meant to.
      const called = fork.join === 'first_wins' && !merged ? all.filter((each) => done?.includes(each)) : all
      mustBeDone.push(...called)
      if (!merged && !fork.keep) mustBeUndone.push(...called)
    }
  }
  assert.equal(done, mustBeDone.sort(), 'each call once')
  assert.equal(undone, mustBeUndone.sort(), 'what is not merged is undone, once')
  assert.equal(context, expected)
}

const kills = fc.array(fc.record({ at: fc.integer({ min: 1, max: 25 }), lastArrives: fc.boolean() }), { maxLength: 2 })
const RUNS: Readonly<Record<string, number>> = { 'in process': rounds(15, 80, 500), 'over HTTP': rounds(2, 20, 40) }

for (const { name, open } of HOMES) {
  const random = suite(`random forks ${name}`)

  random(
    'killed at any point and resumed: one effect a call, the same winner, what lost is undone, and replay is exact',
    async () => {
      await using home = await open()
      let number = 0
      await fc.assert(
        fc.asyncProperty(plans, kills, fc.nat(99), async (plan, deaths, hurry) => {
          number += 1
          const id = `fork-${number}`
          const world = new World()
          for (const [i, death] of deaths.entries()) {
            await shortLife(home, death, (cs) => life(cs, id, { plan, world, hurry: hurry + i }))
          }
          const output = await life(home.process(), id, { plan, world, hurry: hurry + 7 })
          check(plan, world, output)
          const effects = world.done.size
          const cs = home.process()
          const replayed = await replay(cs, id, { plan, world })
          assert.equal(replayed, output)
          assert.is(world.done.size, effects, 'a replay calls nothing')
        }),
        { numRuns: RUNS[name] ?? 1 },
      )
    },
  )

  random.run()
}

/** The same program, over the record. */
async function replay(cs: Countersign, id: string, given: { plan: Plan; world: World }): Promise<Json> {
  const replaying = { ...cs, tool: cs.tool, run: async (_: unknown, body: never) => (await cs.replay(id, body)).output }
  return life(replaying as unknown as Countersign, id, { ...given, hurry: 3 })
}
