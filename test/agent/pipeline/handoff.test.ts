import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ResumeDiverged } from '../../../src/agent/errors.ts'
import type { Run } from '../../../src/agent/runtime/run.ts'
import type { Countersign } from '../../../src/agent/runtime/runtime.ts'
import { within } from '../../support/within.ts'
import { codeOf, HOMES, killedAfter, LONG_MS, rejection, type TestHome } from '../homes.ts'

const apple = { entities: ['Apple'], revenue: '2024' }

for (const { name, open } of HOMES) {
  const handoffs = suite(`handoffs ${name}`)

  /** A life that dies at its n-th command. */
  const dies = async (home: TestHome, commands: number, life: (cs: Countersign) => Promise<unknown>): Promise<void> => {
    const { change, dead } = killedAfter(commands, true)
    life(home.process(change)).catch(() => undefined)
    await within(dead, 'the death')
    home.clock.nowMs += LONG_MS
  }

  const types = async (home: TestHome, id: string): Promise<string[]> => {
    const all: string[] = []
    for await (const { type } of home.connection.events(id)) all.push(type)
    return all
  }

  handoffs(
    'accepted, it is the context; contradicting it, it is refused with findings and what was restored',
    async () => {
      await using home = await open()
      const cs = home.process()
      const seen = await cs.run({ id: 'r' }, async (run) => {
        const first = await run.handoff(apple, { agent: 'researcher' })
        const second = await run.handoff({ summary: 'growth' }, { agent: 'writer' })
        return { first, second, context: await run.context() }
      })
      assert.ok(seen.first.ok && seen.first.envelope.step === 1)
      assert.ok(!seen.second.ok)
      if (seen.second.ok) return
      assert.is(seen.second.findings[0]?.rule, 'critical-key-removed')
      assert.equal(seen.second.restored.context, apple)
      assert.equal([seen.context.step, seen.context.context], [1, apple])
      assert.ok((await types(home, 'r')).join().includes('EnvelopeRejected,RunRewound'))
    },
  )

  /** Every kind of answer, one after another. */
  const body = async (run: Run<null>) => {
    const log = []
    log.push(await run.handoff(apple, { agent: 'a' }))
    log.push(await run.handoff({ note: 'one' }, { agent: 'b', mode: 'extend', tokens: 3 }))
    log.push(await run.context())
    log.push(await run.handoff({}, { agent: 'a' }))
    log.push(await run.handoff({ note: 'two' }, { agent: 'b', mode: 'merge', manifest: { writes: ['note'] } }))
    log.push(await run.rollback({ reason: 'too far' }))
    log.push(await run.context())
    log.push(await run.handoff({ ...apple, note: 'three' }, { agent: 'b', manifest: { writes: ['note'] } }))
    log.push(await run.context())
    return log
  }

  handoffs(
    'killed anywhere and resumed, and replayed, the answers are the same and each is recorded once',
    async () => {
      await using home = await open()
      const whole = await home.process().run({ id: 'whole' }, body)
      assert.equal(JSON.parse(JSON.stringify((await home.process().replay('whole', body)).output)), whole)
      const events = await types(home, 'whole')
      for (let commands = 2; commands <= 9; commands += 1) {
        const id = `killed-${commands}`
        const life = (cs: Countersign) => cs.run({ id }, body)
        await dies(home, commands, life)
        const resumed = await life(home.process())
        // Digests and ids of events differ from run to run; contexts do not.
        assert.equal(withoutParents(resumed), withoutParents(whole), id)
        assert.equal(
          (await types(home, id)).filter((type) => type !== 'RunResumed'),
          events,
          id,
        )
      }
    },
  )

  handoffs('the context on resume is the one of then, not that of now', async () => {
    await using home = await open()
    const seen: number[] = []
    const life = (cs: Countersign) => {
      const note = cs.tool((step: number) => seen.push(step), { name: 'note' })
      return cs.run({ id: 'r', policy: { protect: [] } }, async (run) => {
        for (const n of [1, 2, 3]) {
          await note((await run.context()).step)
          await run.handoff({ n }, { agent: 'a' })
        }
        return (await run.context()).context
      })
    }
    await dies(home, 9, life)
    assert.equal(await life(home.process()), { n: 3 })
    assert.equal(seen, [0, 1, 2])
  })

  handoffs('a resume that hands over something else is refused, and nothing is handed over', async () => {
    await using home = await open()
    const life = (payload: object) => (cs: Countersign) =>
      cs.run({ id: 'r' }, async (run) => {
        await run.handoff(payload, { agent: 'a' })
        await run.handoff({ last: true }, { agent: 'a' })
      })
    await dies(home, 2, life(apple))
    const before = await types(home, 'r')
    const error = (await rejection(life({ other: 1 })(home.process()))) as ResumeDiverged
    assert.is(error.code, 'resume-diverged')
    assert.equal((error.evidence.expected as { payload: unknown }).payload, apple)
    assert.equal(await types(home, 'r'), [...before, 'RunResumed'])
  })

  handoffs('a run cannot complete while a recorded handoff was not requested', async () => {
    await using home = await open()
    const life = (asks: boolean) => (cs: Countersign) =>
      cs.run({ id: 'r' }, async (run) => {
        if (asks) await run.handoff(apple, { agent: 'a' })
        return run.uuid()
      })
    await dies(home, 3, life(true))
    assert.is(codeOf(await rejection(life(false)(home.process()))), 'resume-diverged')
  })

  handoffs('branches side by side in scopes of their own are each served their own', async () => {
    await using home = await open()
    const life = (order: readonly string[]) => (cs: Countersign) =>
      cs.run({ id: 'r' }, async (run) => {
        const branch = (name: string) =>
          run.scope(name, async (inner) => {
            const result = await inner.handoff({ [name]: 1 }, { agent: 'same', mode: 'extend' })
            return result.ok ? [name, result.envelope.step] : []
          })
        const answers = await Promise.all(order.map(branch))
        await run.handoff({ end: 1 }, { agent: 'last', mode: 'extend' })
        return Object.fromEntries(answers)
      })
    await dies(home, 4, life(['x', 'y']))
    assert.equal(await life(['y', 'x'])(home.process()), { x: 1, y: 2 })
  })

  handoffs('what others hand over meanwhile is seen', async () => {
    await using home = await open()
    const cs = home.process()
    const context = await cs.run({ id: 'r' }, async (run) => {
      await run.handoff(apple, { agent: 'a' })
      const body = { agent: 'other', payload: { theirs: 1 }, mode: 'extend' } as const
      assert.ok((await home.connection.execute('r', { kind: 'envelope', body })).ok)
      await run.context()
      await run.handoff({ mine: 1 }, { agent: 'a', mode: 'extend' })
      return run.context()
    })
    assert.equal(context.context, { ...apple, theirs: 1, mine: 1 })
  })

  handoffs('what code and agents receive they may change: what is established stays', async () => {
    await using home = await open()
    const cs = home.process()
    const spoil = (value: unknown) => {
      ;(value as { entities: string[] }).entities.push('spoilt')
    }
    const context = await cs.run({ id: 'r' }, async (run) => {
      await run.handoff(apple, { agent: 'a' })
      spoil((await run.context()).context)
      await run.step('b', (slice) => {
        spoil(slice)
        return { more: 1 }
      })
      const refused = await run.handoff({}, { agent: 'a' })
      if (!refused.ok) spoil(refused.restored.context)
      return (await run.context()).context
    })
    assert.equal(context, { ...apple, more: 1 })
  })

  handoffs('answers that come in another order than they were recorded in change nothing of the context', async () => {
    await using home = await open()
    let arrived = (): void => undefined
    const later = new Promise<void>((resolve) => {
      arrived = resolve
    })
    // The answer to the first handoff comes after the one to the second.
    const cs = home.process((connection) => ({
      ...connection,
      execute: async (runId, command, options) => {
        const reply = await connection.execute(runId, command, options)
        if (command.kind !== 'envelope') return reply
        if (command.body.agent === 'fast') arrived()
        if (command.body.agent === 'slow') await later
        return reply
      },
    }))
    const contexts = await cs.run({ id: 'r' }, async (run) => {
      const slow = run.scope('slow', (inner) => inner.handoff({ a: 1 }, { agent: 'slow', mode: 'extend' }))
      await run.scope('fast', (inner) => inner.handoff({ b: 1 }, { agent: 'fast', mode: 'extend' }))
      const between = (await run.context()).context
      await slow
      await run.handoff({ c: 1 }, { agent: 'last', mode: 'extend' })
      const shown = await run.step('reader', (_, { shown }) => shown.keys.join())
      return [between, (await run.context()).context, shown.payload.text ?? '']
    })
    const all = { a: 1, b: 1, c: 1 }
    assert.equal(contexts, [{ a: 1, b: 1 }, { ...all, text: 'c,b,a' }, 'c,b,a'])
  })

  handoffs('what is no JSON object is refused before anything is posted', async () => {
    await using home = await open()
    const cs = home.process()
    const codes = await cs.run({ id: 'r' }, async (run) => {
      const tried = [[1], { n: 1n }, new Date(0)] as object[]
      const failed = []
      for (const payload of tried) failed.push(codeOf(await rejection(run.handoff(payload, { agent: 'a' }))))
      failed.push(codeOf(await rejection(run.handoff({}, { agent: 'a', manifest: { agent: 'b' } }))))
      return failed
    })
    assert.equal(codes, ['not-recordable', 'not-recordable', 'not-recordable', 'invalid-manifest'])
    assert.equal(await types(home, 'r'), ['RunStarted', 'RunCompleted'])
  })

  handoffs('nothing to roll back is a refusal of the ledger, thrown', async () => {
    await using home = await open()
    const cs = home.process()
    const code = await cs.run({ id: 'r' }, async (run) => codeOf(await rejection(run.rollback())))
    assert.is(code, 'nothing-to-roll-back')
  })

  handoffs.run()
}

function withoutParents(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, member) => (/^(parent|eventId)$/.test(key) ? undefined : member)))
}
