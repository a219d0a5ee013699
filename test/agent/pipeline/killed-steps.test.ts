import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { StepContext } from '../../../src/agent/pipeline/step-types.ts'
import { currentCall } from '../../../src/agent/runtime/execution-context.ts'
import type { Run } from '../../../src/agent/runtime/run.ts'
import type { Countersign } from '../../../src/agent/runtime/runtime.ts'
import { rounds } from '../../support/rounds.ts'
import { within } from '../../support/within.ts'
import { HOMES, killedAfter, LONG_MS, shortLife, type TestHome } from '../homes.ts'

/** What an agent of a random pipeline does. */
interface Part {
  readonly agent: 'ann' | 'bob' | 'cleo'
  /** Calls of a tool that has an effect, made before it answers. */
  readonly effects: number
  /** Contradicts what is established before it answers well. */
  readonly lies: boolean
  readonly value: number
  /** Runs side by side with the part before it. */
  readonly beside: boolean
  /** A rollback by hand follows, where it ran alone. */
  readonly back: boolean
  /** Does its work in a step of its own, inside. */
  readonly nested: boolean
}

const part: fc.Arbitrary<Part> = fc.record({
  agent: fc.constantFrom('ann' as const, 'bob' as const, 'cleo' as const),
  effects: fc.integer({ min: 0, max: 2 }),
  lies: fc.boolean(),
  value: fc.integer({ min: 0, max: 3 }),
  beside: fc.boolean(),
  back: fc.boolean(),
  nested: fc.boolean(),
})

/** What the outer world saw: one entry for each key that a tool was given. */
type World = Map<string, number>

function life(cs: Countersign, id: string, { parts, world }: { parts: readonly Part[]; world: World }): Promise<Json> {
  const effect = cs.tool(
    (_: number) => {
      const key = currentCall()?.idempotencyKey ?? ''
      world.set(key, (world.get(key) ?? 0) + 1)
      return world.size
    },
    { name: 'effect', dedupe: 'position', onUnknown: 'retry', compensate: 'not-needed' },
  )
  const play = async (run: Run<null>, { agent, effects, lies, value, nested }: Part, key: string): Promise<Json> => {
    const plain = async (_: JsonObject, { attempt }: StepContext) => {
      for (let n = 0; n < effects; n += 1) await effect(n)
      return lies && attempt === 1 ? { facts: { base: 'changed' } } : { [key]: value, facts: { [agent]: true } }
    }
    const turn = nested
      ? async (slice: JsonObject, context: StepContext) => {
          const inner = await run.step(`sub-${agent}`, () => ({ [`sub-${key}`]: value }))
          return { ...(await plain(slice, context)), inner: inner.envelope.step > 0 }
        }
      : plain
    const { payload, attempts } = await run.step(agent, turn, { repairs: 1, manifest: { maxTokens: 1_000 } })
    return { payload, attempts }
  }
  return cs.run({ id, budget: { tokens: 1_000_000 } }, async (run) => {
    await run.handoff({ facts: { base: 'firm' } }, { agent: 'seed' })
    const done: Json[] = []
    for (const [g, group] of groupsOf(parts).entries()) {
      done.push(...(await Promise.all(group.map((each, i) => play(run, each, `part-${g}-${i}`)))))
      if (group.length > 1 || group[0]?.back !== true) continue
      done.push((await run.rollback({ reason: 'on second thought' })).context)
    }
    return [...done, (await run.context()).context]
  })
}

function groupsOf(parts: readonly Part[]): Part[][] {
  const groups: Part[][] = []
  for (const part of parts) {
    const last = groups.at(-1)
    if (part.beside && last !== undefined) last.push(part)
    else groups.push([part])
  }
  return groups
}

const RUNS: Readonly<Record<string, number>> = { 'in process': rounds(10, 100), 'over HTTP': rounds(2, 10) }

for (const { name, open } of HOMES) {
  const killed = suite(`pipelines killed ${name}`)

  killed('at any point and resumed, they come to the same context, each effect once; replay is exact', async () => {
    await using home = await open()
    let number = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 2, max: 40 }),
        fc.boolean(),
        async (parts, kill, lastArrives) => {
          number += 1
          const [whole, broken] = [`whole-${number}`, `broken-${number}`]
          const untouched: World = new Map()
          const expected = await life(home.process(), whole, { parts, world: untouched })
          const world: World = new Map()
          await shortLife(home, { at: kill, lastArrives }, (cs) => life(cs, broken, { parts, world }))
          assert.equal(await life(home.process(), broken, { parts, world }), expected)
          assert.is(world.size, untouched.size, 'no effect under a second key')
          const replayed = await life({ ...home.process(), run: replayOf(home, broken) } as Countersign, broken, {
            parts,
            world,
          })
          assert.equal(replayed, expected)
        },
      ),
      { numRuns: RUNS[name] ?? 1, includeErrorInReport: true },
    )
  })

  killed(
    'in the middle of a turn, what was held for it counts as used, and the run can be resumed to its end',
    async () => {
      await using home = await open()
      let turns = 0
      const life = (cs: Countersign, hangs: boolean) =>
        cs.run({ id: 'r', budget: { tokens: 125 } }, (run) =>
          run.step(
            'ann',
            () => {
              turns += 1
              return hangs ? new Promise(() => undefined) : 'done'
            },
            { manifest: { maxTokens: 60 } },
          ),
        )
      // Long ago by the clock of whoever recovers, which is not the ledger's.
      home.clock.nowMs -= 4 * LONG_MS
      const { change, dead } = killedAfter(2, true)
      life(home.process(change), true).catch(() => undefined)
      await within(dead, 'the death')
      home.clock.nowMs += 60_000
      const { open: toResume, inDoubt } = await home.process().recover()
      assert.equal([toResume, inDoubt], [['r'], []], 'nobody has to find out what an agent said')
      assert.equal((await life(home.process(), false)).payload, { text: 'done' })
      assert.is(turns, 1)
      const types: string[] = []
      for await (const { type } of home.connection.events('r')) types.push(type)
      assert.ok(types.includes('ReservationExpired') && types.at(-1) === 'RunCompleted', types.join())
    },
  )

  killed.run()
}

/** The body of `run`, replayed. */
function replayOf(home: TestHome, id: string): unknown {
  return async (_: object, body: (run: Run<null>) => unknown) => (await home.process().replay(id, body)).output
}
