import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AgentError } from '../../src/agent/errors.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { within } from '../support/within.ts'
import { codeOf, HOMES, type Killed, killedAfter, LONG_MS, rejection, type TestHome } from './homes.ts'

for (const { name, open } of HOMES) {
  const changed = suite(`code that changed between two lives ${name}`)

  const dies = async (home: TestHome, commands: number, life: (cs: Countersign) => Promise<unknown>): Promise<void> => {
    const { change, dead } = killedAfter(commands, true)
    life(home.process(change)).catch(() => undefined)
    await within(dead, 'the death')
    home.clock.nowMs += LONG_MS
  }

  changed(
    'a tool that was renamed does not run again: refused before anything goes live, naming both (RUN-51, A153)',
    async () => {
      await using home = await open()
      const charges: string[] = []
      const life = (cs: Countersign, toolName: string, alias: readonly string[] = []) => {
        const options = { name: toolName, alias, compensate: () => charges.push('refund') }
        const charge = cs.tool((cents: number) => charges.push(`${cents}`), options)
        const ship = cs.tool((n: number) => n, { name: 'ship' })
        return cs.run({ id: 'r' }, async () => [await charge(500), await ship(1)])
      }
      await dies(home, 3, (cs) => life(cs, 'charge'))
      assert.equal(charges, ['500'])
      const error = (await rejection(life(home.process(), 'chargeCard'))) as AgentError
      assert.is(codeOf(error), 'resume-diverged')
      assert.match(error.message, /charge, .*goes on with chargeCard/)
      assert.equal(charges, ['500'])
      assert.equal(await life(home.process(), 'chargeCard', ['charge']), [1, 1], 'an alias is served')
      assert.equal(charges, ['500'])
    },
  )

  changed(
    'a call in doubt of a renamed tool goes on under its recorded name, and is undone by the tool of now',
    async () => {
      await using home = await open()
      const keys: string[] = []
      const undone: string[] = []
      const life = (cs: Countersign, toolName: string, alias: readonly string[] = []) => {
        const charge = cs.tool({
          name: toolName,
          alias,
          onUnknown: 'retry',
          execute: (_: number, { idempotencyKey }) => keys.push(idempotencyKey),
          compensate: () => undone.push(toolName),
        })
        return cs.run({ id: 'r' }, async () => {
          await charge(500)
          throw new Error('enough')
        })
      }
      // The claim arrives, its outcome does not.
      await dies(home, 2, (cs) => life(cs, 'charge'))
      await rejection(life(home.process(), 'chargeCard', ['charge']))
      assert.is(new Set(keys).size, 1, 'one call, one key for the provider')
      assert.equal(undone, ['chargeCard'])
      const calls = (await home.connection.calls('r')).filter(({ phase }) => phase === 'forward')
      assert.equal(
        calls.map((call) => [call.tool, call.status]),
        [['charge', 'compensated']],
      )
    },
  )

  changed('values, agents, handoffs and forks of other names are refused in the same way (RUN-51, A154)', async () => {
    await using home = await open()
    let effects = 0
    const lives: Record<string, (run: Run<null>, old: boolean, effect: () => Promise<number>) => Promise<unknown>> = {
      once: async (run, old) => run.once(old ? 'quote' : 'price', () => 7),
      agent: (run, old) => run.step(old ? 'writer' : 'author', () => ({ text: 'a' })),
      handoff: (run, old) => run.handoff({ a: 1 }, { agent: old ? 'writer' : 'author' }),
      fork: (run, old) =>
        run.fork([{ name: old ? 'left' : 'links', agent: 'a', run: () => ({ a: 1 }) }], { join: 'union' }),
    }
    for (const [id, life] of Object.entries(lives)) {
      const whole = (cs: Countersign, old: boolean) => {
        const effect = cs.tool(() => ++effects, { name: 'effect' })
        return cs.run({ id }, async (run) => {
          await life(run, old, effect)
          await effect()
        })
      }
      const before = effects
      // Dies when the effect of behind is claimed: everything before it is on record.
      const { change, dead } = killedAtTool('effect')
      whole(home.process(change), true).catch(() => undefined)
      await within(dead, id)
      home.clock.nowMs += LONG_MS
      const error = await rejection(whole(home.process(), false))
      assert.is(codeOf(error), 'resume-diverged', `${id}: ${error}`)
      assert.is(effects, before, id)
    }
  })

  changed(
    'run.patched lets code change: old runs go the old way, new ones the new one, in every life (RUN-52)',
    async () => {
      await using home = await open()
      const effects: string[] = []
      const life = (cs: Countersign, patch: boolean) => (id: string) => {
        const tools = ['old', 'new', 'last'].map((tool) => cs.tool(() => effects.push(tool), { name: tool }))
        return cs.run({ id }, async (run) => {
          const way = patch && (await run.patched('another way')) ? 1 : 0
          if (patch) assert.is(await run.patched('another way'), way === 1)
          await tools[way]?.()
          return tools[2]?.()
        })
      }
      await dies(home, 3, (cs) => life(cs, false)('before'))
      assert.equal(effects, ['old'])
      await life(home.process(), true)('before')
      assert.equal(effects, ['old', 'last'])
      effects.length = 0
      await dies(home, 5, (cs) => life(cs, true)('after'))
      await life(home.process(), true)('after')
      assert.equal(effects, ['new', 'last'])
      for (const id of ['before', 'after']) {
        const cs = home.process()
        const tools = ['old', 'new', 'last'].map((tool) => cs.tool(() => 0, { name: tool }))
        const replayed = await cs.replay(id, async (run) => {
          await tools[(await run.patched('another way')) ? 1 : 0]?.()
          return tools[2]?.()
        })
        assert.is(replayed.verdict, 'exact', id)
      }
    },
  )

  changed('names that a minifier made are refused with a word', async () => {
    await using home = await open()
    const cs = home.process()
    for (const fn of [function e() {}, function t2() {}, function $a() {}]) {
      assert.throws(() => cs.tool(fn), /a minifier made/)
      assert.is(codeOf(await rejection(cs.run({ id: 'r' }, fn))), 'run-unnamed')
    }
    cs.tool(() => 1, { name: 'e' })
    assert.is(await cs.run({ id: 'named', name: 'r' }, () => 1), 1)
  })

  changed.run()
}

/** The process is gone when it claims a call of this tool: the claim does not arrive. */
function killedAtTool(tool: string): Killed {
  let die = (): void => undefined
  const dead = new Promise<void>((resolve) => {
    die = resolve
  })
  const change: Killed['change'] = (connection) => ({
    ...connection,
    execute: (runId, command, options) => {
      if (command.kind !== 'claim' || command.body.tool !== tool) return connection.execute(runId, command, options)
      die()
      return new Promise(() => undefined)
    },
  })
  return { change, dead }
}
