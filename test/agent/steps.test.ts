import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Connection } from '../../src/agent/runtime/connection.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { eventually, within } from '../support/within.ts'
import { codeOf, HOMES, killedAfter } from './homes.ts'

const PURE = { effects: 'none' } as const
const STEP = { tool: 'look', args: {}, ...PURE, after: 0, outcome: { result: 1 } } as const

/** The kinds of commands that a process sends, in order. */
function counted(connection: Connection, sent: string[]): Connection {
  return {
    ...connection,
    execute: (runId, command, options) => {
      const isStep = command.kind === 'claim' && command.body.outcome !== undefined
      sent.push(isStep ? 'step' : command.kind)
      return connection.execute(runId, command, options)
    },
    batch: (runId, commands) => {
      sent.push(...commands.map(({ command }) => command.kind))
      return connection.batch(runId, commands)
    },
  }
}

async function recorded(connection: Connection, id: string): Promise<string[]> {
  const types: string[] = []
  for await (const { type, data } of connection.events(id)) {
    types.push(type === 'ToolCallClaimed' ? `${data.tool} after ${data.after ?? '-'}` : type)
  }
  return types
}

for (const { name, open } of HOMES) {
  const test = suite(`steps ${name}`)

  test('a call without effects is one append, and a failed one is claimed when it is tried again (RUN-85, RUN-210)', async () => {
    await using home = await open()
    const sent: string[] = []
    let tries = 0
    const body = (cs: Countersign) => {
      const look = cs.tool(() => (++tries === 1 ? Promise.reject(new Error('broke')) : 'seen'), {
        ...{ name: 'look', backoff: { type: 'fixed', delayMs: 0 } as const },
        ...PURE,
      })
      return async (run: { once: (name: string, fn: () => number, options?: object) => Promise<number> }) => [
        await look(),
        await run.once('n', () => 7, PURE),
        await run.once('m', () => 8),
      ]
    }
    const cs = home.process((connection) => counted(connection, sent))
    assert.equal(await cs.run({ id: 'r', name: 'r' }, body(cs) as never), ['seen', 7, 8])
    assert.equal(sent, ['start', 'step', 'claim', 'settle', 'step', 'claim', 'settle', 'complete'])
    assert.equal(await recorded(home.connection, 'r'), [
      ...['RunStarted', 'look after 0', 'ToolCallFailed', 'look after -', 'ToolCallSucceeded'],
      ...['run.once:n after 5', 'ToolCallSucceeded', 'run.once:m after -', 'ToolCallSucceeded', 'RunCompleted'],
    ])
    const replaying = home.process()
    assert.is((await replaying.replay('r', body(replaying) as never)).verdict, 'exact')
  })

  test('a step of a process that dies before the append is run again, and one that is recorded is not (RUN-210)', async () => {
    for (const [arrives, runs] of [
      [false, 2],
      [true, 1],
    ] as const) {
      await using home = await open()
      let ran = 0
      const life = (cs: Countersign) => {
        const look = cs.tool(() => ++ran, { name: 'look', ...PURE })
        return cs.run({ id: 'r', name: 'r' }, () => look())
      }
      const killed = killedAfter(2, arrives)
      life(home.process(killed.change)).catch(() => undefined)
      await within(killed.dead, 'the death')
      assert.is(await life(home.process()), runs)
      assert.is(ran, runs)
    }
  })

  test('where a rule names the tool, the ledger takes no step and the runtime runs none before its claim (RUN-211, RUN-212)', async () => {
    await using home = await open()
    const of = async (id: string, policy: object): Promise<unknown[]> => {
      const started = await home.connection.execute(id, { kind: 'start', body: { id, name: 'r', policy } as never })
      assert.ok(started.ok)
      const reply = await home.connection.execute(id, { kind: 'claim', body: { ...STEP } })
      assert.equal((await recorded(home.connection, id)).length, reply.ok ? 3 : 1, 'a refusal records nothing')
      return [started.body.claimFirst, reply.ok ? reply.body.status : reply.problem.code]
    }
    assert.equal(await of('none', { base: 'default' }), [[], 'succeeded'])
    assert.equal(await of('other', { approve: [{ tools: ['pay'] }] }), [['pay'], 'succeeded'])
    assert.equal(await of('named', { approve: [{ tools: ['look'], when: 'args.n > 5' }] }), [['look'], 'claim-first'])
    assert.equal(await of('every', { approve: [{}] }), [true, 'claim-first'])
    assert.equal(await of('audited', { claimFirst: true }), [true, 'claim-first'])
    assert.equal(await of('redacted', { redaction: [{ name: 'mail', find: ['email'] }] }), [true, 'claim-first'])
    const sent: string[] = []
    const cs = home.process((connection) => counted(connection, sent))
    const look = cs.tool(() => 'seen', { name: 'look', ...PURE })
    assert.is(await cs.run({ name: 'r', policy: { claimFirst: true } }, () => look()), 'seen')
    assert.equal(sent, ['start', 'claim', 'settle', 'complete'])
  })

  test('only what declares nothing else is a step (RUN-211)', async () => {
    await using home = await open()
    await home.connection.execute('r', { kind: 'start', body: { id: 'r', name: 'r', budget: { tokens: 9 } } })
    const { effects: _, ...withEffects } = STEP
    const { after: __, ...withoutPlace } = STEP
    const more = [{ reserve: { tokens: 10 } }, { approve: {} }, { compensate: { tool: 'undo' } }, { phase: 'model' }]
    for (const body of [withEffects, withoutPlace, ...more.map((each) => ({ ...STEP, ...each }))]) {
      const reply = await home.connection.execute('r', { kind: 'claim', body: body as never })
      assert.is(reply.ok ? 'taken' : reply.problem.code, 'claim-first')
    }
    assert.equal(await recorded(home.connection, 'r'), ['RunStarted'])
  })

  test('the first append of a key wins: the loser and its code get the recorded result (RUN-213)', async () => {
    await using home = await open()
    const cs = home.process((connection) => ({
      ...connection,
      execute: async (runId, command, options) => {
        if (command.kind === 'claim' && command.body.outcome !== undefined) {
          const other = { ...command.body, outcome: { result: 'first' } }
          await connection.execute(runId, { kind: 'claim', body: other })
        }
        return connection.execute(runId, command, options)
      },
    }))
    const look = cs.tool(() => 'second', { name: 'look', ...PURE })
    assert.is(await cs.run({ id: 'r', name: 'r' }, () => look()), 'first')
    assert.equal((await recorded(home.connection, 'r')).slice(1), [
      ...['look after 0', 'ToolCallSucceeded', 'RunCompleted'],
    ])
  })

  test('a replay asks for a step before it gets any outcome that came after the step began (RUN-214)', async () => {
    await using home = await open()
    const body = (cs: Countersign, isLive: boolean) => {
      const seen: string[] = []
      let told = (): void => undefined
      const isGiven = new Promise<void>((resolve) => {
        told = resolve
      })
      const quick = cs.tool(async () => 'quick', { name: 'quick', ...PURE })
      // It begins before the outcome of `quick` and ends after it.
      const slow = cs.tool(async (_: { readonly seen: readonly string[] }) => void (await isGiven), {
        ...{ name: 'slow', ...PURE },
      })
      return async () => {
        const first = quick().then(() => {
          seen.push('quick')
          told()
        })
        // Work that is no request: in a replay it would take longer than the outcome that follows.
        for (let turn = 0; turn < (isLive ? 0 : 5); turn += 1) await new Promise(setImmediate)
        await slow({ seen: [...seen] })
        await first
        return seen
      }
    }
    const cs = home.process()
    await cs.run({ id: 'r', name: 'r' }, body(cs, true))
    assert.equal((await recorded(home.connection, 'r')).slice(1, 5), [
      ...['quick after 0', 'ToolCallSucceeded', 'slow after 0', 'ToolCallSucceeded'],
    ])
    const replaying = home.process()
    assert.is((await replaying.replay('r', body(replaying, false))).verdict, 'exact')
  })

  test('a step that asks something of the run is claimed first (RUN-215)', async () => {
    await using home = await open()
    const sent: string[] = []
    const body = (cs: Countersign) => {
      const inner = cs.tool(() => 'inner', { name: 'inner' })
      const outer = cs.tool(async () => `${await inner()} and outer`, { name: 'outer', ...PURE })
      return () => outer()
    }
    const cs = home.process((connection) => counted(connection, sent))
    assert.is(await cs.run({ id: 'r', name: 'r' }, body(cs)), 'inner and outer')
    assert.equal(sent, ['start', 'claim', 'claim', 'settle', 'settle', 'complete'])
    const [outer, inner] = await home.connection.calls('r')
    assert.equal([outer?.tool, inner?.tool, inner?.parentCall], ['outer', 'inner', outer?.callId])
    const replaying = home.process()
    assert.is((await replaying.replay('r', body(replaying))).verdict, 'exact')
  })

  test('a step knows of the refusal, the denial and the signal before it, and so does a replay (RUN-214)', async () => {
    type First = (cs: Countersign) => (run: Run) => Promise<unknown>
    const cases: readonly (readonly [id: string, seen: string, first: First])[] = [
      [
        'refused',
        'budget-exceeded',
        (cs) => {
          const dear = cs.tool(() => 'paid', { name: 'dear', reserve: () => ({ tokens: 99 }) })
          return () => dear().catch(codeOf)
        },
      ],
      [
        'denied',
        'approval-denied',
        (cs) => {
          const pay = cs.tool(() => 'paid', { name: 'pay', approve: true })
          return () => pay().catch(codeOf)
        },
      ],
      ['held', 'went', () => (run) => run.waitFor('go')],
    ]
    for (const [id, seen, of] of cases) {
      await using home = await open()
      const body = (cs: Countersign) => {
        const first = of(cs)
        return async (run: Run) => {
          const start = await run.now()
          if (id === 'held') await run.once('send', async () => void (await cs.signal(id, 'go', 'went')))
          const given = await first(run)
          return [given, start <= (await run.now())]
        }
      }
      const cs = home.process()
      const going = cs.run({ id, name: 'r', budget: { tokens: 10 } }, body(cs))
      if (id === 'denied') {
        const bob = await home.as('bob')
        const asked = async () => {
          for await (const approval of bob.approvals.list()) return approval
          return undefined
        }
        await bob.approvals.deny(await eventually(asked, 'the request'))
      }
      assert.equal(await within(going, id), [seen, true])
      const replaying = home.process()
      assert.is((await replaying.replay(id, body(replaying))).verdict, 'exact', id)
    }
  })

  test('a step that another process recorded is followed by another one, live and in a replay (RUN-213, RUN-214)', async () => {
    await using home = await open()
    const body = (cs: Countersign) => {
      const look = cs.tool(() => 'second', { name: 'look', ...PURE })
      const then = cs.tool(() => 'then', { name: 'then', ...PURE })
      return async () => [await look(), await then()]
    }
    const cs = home.process((connection) => ({
      ...connection,
      execute: async (runId, command, options) => {
        if (command.kind === 'claim' && command.body.tool === 'look' && command.body.outcome !== undefined) {
          const other = { ...command.body, outcome: { result: 'first' } }
          await connection.execute(runId, { kind: 'claim', body: other })
        }
        return connection.execute(runId, command, options)
      },
    }))
    assert.equal(await cs.run({ id: 'r', name: 'r' }, body(cs)), ['first', 'then'])
    const replaying = home.process()
    assert.is((await replaying.replay('r', body(replaying))).verdict, 'exact')
  })

  test('an equal call is the same call: it does not run again, and one that failed is claimed (RUN-3, RUN-210)', async () => {
    await using home = await open()
    const sent: string[] = []
    const ran = { look: 0, outer: 0 }
    const body = (cs: Countersign) => {
      const look = cs.tool(() => ++ran.look, { name: 'look', dedupe: 'args', ...PURE })
      const inner = cs.tool(() => 'inner', { name: 'inner', dedupe: 'args' })
      const outer = cs.tool(() => (++ran.outer === 1 ? Promise.reject(new Error('broke')) : inner()), {
        ...({ name: 'outer', dedupe: 'args', retries: 0 } as const),
        ...PURE,
      })
      return async () => [await look(), await look(), await outer().catch(() => 'caught'), await outer()]
    }
    const cs = home.process((connection) => counted(connection, sent))
    assert.equal(await within(cs.run({ id: 'r', name: 'r' }, body(cs)), 'the run'), [1, 1, 'caught', 'inner'])
    assert.equal(ran, { look: 1, outer: 2 })
    assert.equal(sent, ['start', 'step', 'claim', 'step', 'claim', 'claim', 'settle', 'settle', 'complete'])
    const replaying = home.process()
    assert.is((await replaying.replay('r', body(replaying))).verdict, 'exact')
  })

  test('what goes on after the end of its step does not claim the step again (RUN-215)', async () => {
    await using home = await open()
    let isRecorded = (): void => undefined
    const recordedFirst = new Promise<void>((resolve) => {
      isRecorded = resolve
    })
    let tries = 0
    const cs = home.process((connection) => ({
      ...connection,
      execute: async (runId, command, options) => {
        const reply = await connection.execute(runId, command, options)
        if (command.kind === 'claim' && command.body.outcome !== undefined) isRecorded()
        return reply
      },
    }))
    const inner = cs.tool(() => 'inner', { name: 'inner' })
    const late = async (): Promise<string> => {
      await recordedFirst
      return inner()
    }
    const outer = cs.tool(() => (++tries === 1 ? late() : 'second'), {
      ...{ name: 'outer', timeout: 20, retries: 1, backoff: { type: 'fixed', delayMs: 100 } as const },
      ...PURE,
    })
    assert.is(
      await within(
        cs.run({ id: 'r', name: 'r' }, () => outer()),
        'the second attempt',
      ),
      'second',
    )
    const types = await recorded(home.connection, 'r')
    assert.equal(
      types.filter((type) => type.startsWith('outer')),
      ['outer after 0', 'outer after -'],
    )
    assert.ok(types.includes('inner after -'), 'what it asks for later is recorded')
  })

  test('a manifest that the run registers names the calls that are claimed from then on (RUN-212)', async () => {
    await using home = await open()
    const sent: string[] = []
    const cs = home.process((connection) => counted(connection, sent))
    const look = cs.tool((n: number) => n, { name: 'look', ...PURE })
    await cs.run({ id: 'r', name: 'r' }, async (run) => {
      await look(1)
      await run.handoff({ plan: 'x' }, { agent: 'a', manifest: { policy: { approve: [{ tools: ['look'] }] } } })
      await look(2)
    })
    assert.equal(sent, ['start', 'step', 'manifest', 'envelope', 'claim', 'settle', 'complete'])
  })

  test('claim and outcome that are too large together are recorded one by one (RUN-211)', async () => {
    await using home = await open()
    const cs = home.process((connection) => ({
      ...connection,
      execute: async (runId, command, options) => {
        if (command.kind !== 'claim' || command.body.outcome === undefined)
          return connection.execute(runId, command, options)
        const problem = { code: 'body-too-large', detail: 'too large', evidence: { limit: 1, actual: 2 } } as const
        return { ok: false, problem }
      },
    }))
    const look = cs.tool(() => 'seen', { name: 'look', ...PURE })
    assert.is(await cs.run({ id: 'r', name: 'r' }, () => look()), 'seen')
    assert.equal((await recorded(home.connection, 'r')).slice(1), [
      ...['look after 0', 'ToolCallSucceeded', 'RunCompleted'],
    ])
  })

  test.run()
}
