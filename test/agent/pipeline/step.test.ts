import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import { HandoffRefused, LedgerRefused } from '../../../src/agent/errors.ts'
import type { StepContext } from '../../../src/agent/pipeline/step-types.ts'
import { currentCall } from '../../../src/agent/runtime/execution-context.ts'
import type { Run } from '../../../src/agent/runtime/run.ts'
import type { Countersign } from '../../../src/agent/runtime/runtime.ts'
import { codeOf, HOMES, rejection, type TestHome } from '../homes.ts'

const apple = { entities: ['Apple'], revenue: '2024' }
/** One token a character: counts that can be told by hand. */
const letters = (text: string): number => text.length

for (const { name, open } of HOMES) {
  const steps = suite(`steps ${name}`)

  const eventsOf = async (home: TestHome, id: string, type: string): Promise<JsonObject[]> => {
    const all: JsonObject[] = []
    for await (const { data } of home.connection.events(id, type)) all.push(data)
    return all
  }
  const spentBy = async (home: TestHome, id: string): Promise<unknown[]> =>
    (await eventsOf(home, id, 'UsageRecorded')).map(({ agent, usage }) => [agent, (usage as JsonObject).tokens])

  steps("Relay's own example is accepted and keeps the entities: the agent returns its own section only", async () => {
    await using home = await open()
    const cs = home.process()
    const manifest = {
      agent: 'agent-1',
      task: 'Analyze entities and summarize findings',
      reads: ['entities', 'summary'],
      writes: ['analysis'],
      maxTokens: 4000,
    }
    const context = await cs.run({ id: 'r', budget: { tokens: 8000 } }, async (run) => {
      await run.handoff({ entities: ['Apple'], summary: 'revenue up' }, { agent: 'seed' })
      await run.step('agent-1', () => ({ analysis: 'growth at 5%' }), { manifest })
      return (await run.context()).context
    })
    assert.equal(context, { entities: ['Apple'], summary: 'revenue up', analysis: 'growth at 5%' })
  })

  steps('an agent is shown what its manifest reads, and its result says what it was shown', async () => {
    await using home = await open()
    const cs = home.process(undefined, { tokens: letters })
    const seen: unknown[] = []
    const result = await cs.run({ id: 'r' }, async (run) => {
      await run.handoff({ ...apple, secret: 1 }, { agent: 'seed' })
      const look = (slice: JsonObject, { task, attempt, findings, shown }: StepContext) => {
        seen.push(slice, task, attempt, findings, shown.keys, shown.omitted)
        return 'fine'
      }
      return run.step('reader', look, { manifest: { reads: ['entities', 'nothing'], task: 'look' } })
    })
    assert.equal(seen, [{ entities: ['Apple'] }, 'look', 1, [], ['entities'], []])
    assert.equal(result.payload, { text: 'fine' })
    assert.equal([result.tokens, result.counter, result.attempts, result.envelope.step], [4, 'custom', 1, 2])
  })

  steps('refused, it gets another try with the findings; each try is on record', async () => {
    await using home = await open()
    const cs = home.process()
    const turns: unknown[] = []
    const writer = (_: JsonObject, { attempt, findings }: StepContext) => {
      turns.push(findings.map(({ rule, path }) => `${rule} ${path}`))
      return attempt === 1 ? { entities: ['Apple'], revenue: '2023', facts: ['other'] } : { summary: 'growth' }
    }
    const result = await cs.run({ id: 'r' }, async (run) => {
      await run.handoff({ facts: { revenue: '2024' } }, { agent: 'seed' })
      return run.step('writer', writer, { repairs: 2, manifest: { writes: ['summary', 'facts'] } })
    })
    assert.is(result.attempts, 2)
    assert.is(turns.length, 2)
    assert.match(String((turns[1] as string[]).join()), /contradicted \/facts|manifest-violation/)
    assert.is((await eventsOf(home, 'r', 'EnvelopeRejected')).length, 1)
    assert.equal(
      (await home.connection.calls('r')).map(({ tool, args, status }) => [tool, (args as JsonObject).attempt, status]),
      [
        ['agent:writer', 1, 'succeeded'],
        ['agent:writer', 2, 'succeeded'],
      ],
    )
  })

  steps(
    'without a repair left it throws what was found, and the run is rolled back unless that is caught',
    async () => {
      await using home = await open()
      const cs = home.process()
      const bad = () => ({ entities: null })
      const error = await rejection(
        cs.run({ id: 'r' }, async (run) => {
          await run.handoff(apple, { agent: 'seed' })
          return run.step('writer', bad, { mode: 'replace', repairs: 1 })
        }),
      )
      assert.instance(error, HandoffRefused)
      if (!(error instanceof HandoffRefused)) return
      assert.equal([error.code, error.attempts, error.restored.context], ['handoff-refused', 2, apple])
      assert.is(error.findings[0]?.severity, 'error')
      assert.is((await eventsOf(home, 'r', 'EnvelopeRejected')).length, 2)
      assert.is((await eventsOf(home, 'r', 'RunCompensated')).length, 1)
    },
  )

  steps('what the schema of its manifest does not let pass is a finding to repair', async () => {
    await using home = await open()
    const cs = home.process()
    const schema = { type: 'object', required: ['score'], properties: { score: { type: 'number' } } }
    const rater = (_: JsonObject, { attempt }: StepContext) => (attempt === 1 ? 'good' : { score: 7 })
    const result = await cs.run({ id: 'r' }, (run) => run.step('rater', rater, { schema, repairs: 1 }))
    assert.equal(result.payload, { score: 7 })
  })

  steps('calls made in it stand in its scope and are its agent’s; a second step of the agent has its own', async () => {
    await using home = await open()
    const cs = home.process()
    const look = cs.tool((what: string) => `saw ${what}`, { name: 'look' })
    await cs.run({ id: 'r' }, async (run) => {
      await run.step('scout', async () => ({ first: await look('hill') }))
      await run.step('scout', async () => ({ second: await look('lake') }))
    })
    assert.equal(
      (await home.connection.calls('r')).map(({ tool, scope, agent }) => [tool, scope, agent]),
      [
        ['agent:scout', 'step:scout', 'scout'],
        ['look', 'step:scout', 'scout'],
        ['agent:scout', 'step:scout#2', 'scout'],
        ['look', 'step:scout#2', 'scout'],
      ],
    )
  })

  steps(
    'the second try of an agent gets the results of the calls that the first one made: no effect happens twice',
    async () => {
      await using home = await open()
      const cs = home.process()
      let charges = 0
      const charge = cs.tool(() => ++charges, { name: 'charge', dedupe: 'position' })
      const seller = async (_: JsonObject, { attempt }: StepContext) => {
        const n = await charge()
        return attempt === 1 ? { entities: [] } : { paid: n }
      }
      await cs.run({ id: 'r' }, async (run) => {
        await run.handoff(apple, { agent: 'seed' })
        await run.step('seller', seller, { mode: 'replace', repairs: 1 }).catch(() => undefined)
        await run.step('seller', { invoke: seller } as never, { repairs: 1 }).catch(() => undefined)
      })
      assert.is(charges, 2)
    },
  )

  steps(
    'at a second try an agent hands over again what steps inside it returned, and nothing that was accepted is gone',
    async () => {
      await using home = await open()
      let turns = 0
      const body = async (run: Run<null>) => {
        await run.handoff({ facts: { base: 'firm' } }, { agent: 'seed' })
        const lead = async (_: JsonObject, { attempt }: StepContext) => {
          await run.step('helper', () => ({ help: ++turns }))
          return attempt === 1 ? { facts: { base: 'other' } } : { done: true }
        }
        await run.step('lead', lead, { repairs: 1 })
        return (await run.context()).context
      }
      const context = await home.process().run({ id: 'r' }, body)
      assert.equal(context, { facts: { base: 'firm' }, help: 1, done: true })
      assert.equal((await home.process().replay('r', body)).output, context)
      assert.is(turns, 1)
      assert.equal(
        (await eventsOf(home, 'r', 'EnvelopeAccepted')).map(({ agent, scope, occurrence }) => [
          agent,
          scope,
          occurrence,
        ]),
        [
          ['seed', undefined, 0],
          ['helper', 'step:lead/step:helper', 0],
          ['helper', 'step:lead/step:helper', 1],
          ['lead', 'step:lead', 1],
        ],
      )
    },
  )

  steps('an agent may ask one of its own name', async () => {
    await using home = await open()
    const context = await home.process().run({ id: 'r' }, async (run) => {
      const split = (depth: number) => async (): Promise<object> => {
        if (depth > 0) await run.step('worker', split(depth - 1))
        return { [`part-${depth}`]: true }
      }
      await run.step('worker', split(2))
      return (await run.context()).context
    })
    assert.equal(context, { 'part-0': true, 'part-1': true, 'part-2': true })
  })

  steps('in a branch of a fork it is refused before its agent is called: the context is frozen there', async () => {
    await using home = await open()
    let turns = 0
    const fork = await home.process().run({ id: 'r' }, (run) =>
      run.fork(
        [
          {
            agent: 'a',
            run: async (_, { run: inner }) => (await inner.step('b', () => ({ n: ++turns }))).payload,
          },
          { agent: 'c', run: () => ({ c: 1 }) },
        ],
        { join: 'union' },
      ),
    )
    assert.equal(
      fork.receipts.map(({ branch, status, error }) => [branch, status, error?.code]),
      [
        ['a', 'failed', 'handoff-in-branch'],
        ['c', 'merged', undefined],
      ],
    )
    assert.is(turns, 0)
  })

  steps('tokens are charged once: as counted, or by the model calls that were recorded in it', async () => {
    await using home = await open()
    const cs = home.process(undefined, { tokens: letters })
    await cs.run({ id: 'r', budget: { tokens: 1000 } }, async (run) => {
      await run.step('talker', () => 'twelve chars')
      await run.handoff({ more: 1 }, { agent: 'talker', mode: 'extend', tokens: 5 })
    })
    assert.equal(await spentBy(home, 'r'), [['talker', 12]])
    assert.is((await home.connection.budget('r')).tokens, 17)
  })

  steps(
    'model calls in a step reserve and are charged for themselves: what was held for the step is returned',
    async () => {
      await using home = await open()
      const cs = home.process(undefined, { tokens: letters })
      await cs.run({ id: 'r', budget: { tokens: 100 } }, async (run) => {
        const thinker = async () => {
          // Under what is held for the step, 80, this could not be reserved.
          const answer = await run.model({
            provider: 'acme',
            model: 'small',
            request: 'think',
            estimate: { inputTokens: 10, outputTokens: 60 },
            call: () => ({ text: 'thought', used: { inputTokens: 9, outputTokens: 21 } }),
            usage: ({ used }) => used,
          })
          return { thought: answer.text }
        }
        await run.step('thinker', thinker, { manifest: { maxTokens: 80 } })
        await run.step('talker', () => 'twelve chars', { manifest: { maxTokens: 70 } })
      })
      assert.equal(
        (await spentBy(home, 'r')).filter((each) => (each as unknown[])[1] !== 0),
        [
          ['thinker', 30],
          ['talker', 12],
        ],
      )
      assert.is((await home.connection.budget('r')).tokens, 42)
      const [turn] = await home.connection.calls('r')
      assert.equal(
        (await home.connection.calls('r')).map(({ agent, parentCall }) => [agent, parentCall]),
        [
          ['thinker', undefined],
          ['thinker', turn?.callId],
          ['talker', undefined],
        ],
      )
    },
  )

  steps('a step that may not be afforded does not begin: the budget refuses before the agent is called', async () => {
    await using home = await open()
    const cs = home.process(undefined, { tokens: letters })
    let turns = 0
    const talker = () => {
      turns += 1
      return 'x'.repeat(60)
    }
    const manifest = { maxTokens: 60 }
    const error = await rejection(
      cs.run({ id: 'r', budget: { tokens: 100 } }, async (run) => {
        await run.step('talker', talker, { manifest })
        await run.step('talker', talker, { manifest })
      }),
    )
    assert.instance(error, LedgerRefused)
    assert.is(codeOf(error), 'budget-exceeded')
    assert.is(turns, 1)
    assert.equal(await eventsOf(home, 'r', 'BudgetExceeded').then((all) => all.length), 1)
  })

  steps('steps side by side cannot overshoot together', async () => {
    await using home = await open()
    const cs = home.process(undefined, { tokens: letters })
    let turns = 0
    const talker = async () => {
      turns += 1
      await new Promise((resolve) => setImmediate(resolve))
      return 'x'.repeat(50)
    }
    const body = async (run: Run<null>) => {
      const all = ['a', 'b', 'c', 'd'].map((agent) => run.step(agent, talker, { manifest: { maxTokens: 50 } }))
      const codes = (await Promise.allSettled(all)).map((each) =>
        each.status === 'rejected' ? codeOf(each.reason) : 'ok',
      )
      return codes.sort()
    }
    const codes = ['budget-exceeded', 'budget-exceeded', 'ok', 'ok']
    assert.equal(await cs.run({ id: 'r', budget: { tokens: 100 } }, body), codes)
    assert.equal((await home.process().replay('r', body)).output, codes)
    assert.is(turns, 2)
  })

  steps('more tokens than its manifest lets it hand over are refused', async () => {
    await using home = await open()
    const cs = home.process(undefined, { tokens: letters })
    const talker = (_: JsonObject, { attempt }: StepContext) => 'x'.repeat(attempt === 1 ? 11 : 10)
    const result = await cs.run({ id: 'r' }, (run) =>
      run.step('talker', talker, { manifest: { maxTokens: 10 }, repairs: 1 }),
    )
    assert.is(result.attempts, 2)
    const [rejected] = await eventsOf(home, 'r', 'EnvelopeRejected')
    assert.is((rejected?.findings as readonly JsonObject[] | undefined)?.[0]?.rule, 'manifest-violation')
  })

  steps('what cannot be handed over is an error that says so, and so is a handoff beside the step’s own', async () => {
    await using home = await open()
    const cs = home.process()
    const codes = await cs.run({ id: 'r' }, async (run) => {
      const failed = []
      for (const gives of [null, 7, [1], { n: 1n }]) failed.push(codeOf(await rejection(run.step('a', () => gives))))
      failed.push(codeOf(await rejection(run.step('a', { call: 1 } as never))))
      failed.push(codeOf(await rejection(run.step('a', () => run.handoff({}, { agent: 'a' })))))
      failed.push(codeOf(await rejection(run.step('a', () => run.rollback({ reason: 'x' })))))
      failed.push(codeOf(await rejection(run.step('a', () => ({}), { repairs: -1 }))))
      failed.push(codeOf(await rejection(run.step('a', () => ({}), { manifest: { agent: 'b' } }))))
      return failed
    })
    const invalid = ['invalid-output', 'invalid-output', 'invalid-output', 'invalid-output', 'invalid-agent']
    assert.equal(codes, [...invalid, 'handoff-in-step', 'handoff-in-step', 'invalid-step', 'invalid-manifest'])
  })

  steps('an agent that throws is the error of the step, and is called again where it says so', async () => {
    await using home = await open()
    const cs = home.process()
    let turns = 0
    const flaky = () => {
      turns += 1
      if (turns < 3) throw new TypeError('no answer')
      return `after ${currentCall()?.attempt}`
    }
    const backoff = { type: 'fixed', delayMs: 0 } as const
    const payload = await cs.run({ id: 'r' }, async (run) => {
      const failed = await rejection(run.step('flaky', flaky))
      assert.instance((failed as Error).cause, TypeError)
      return (await run.step('flaky', flaky, { retries: 2, backoff })).payload
    })
    assert.equal(payload, { text: 'after 2' })
  })

  steps(
    'a manifest is registered once a run; one that the ledger does not take is refused before the agent is called',
    async () => {
      await using home = await open()
      const cs = home.process()
      let turns = 0
      const talker = () => {
        turns += 1
        return 'hm'
      }
      const code = await cs.run({ id: 'r' }, async (run) => {
        for (let n = 0; n < 3; n += 1)
          await run.step('talker', talker, { manifest: { writes: ['text'], task: 'talk' } })
        return codeOf(await rejection(run.step('talker', talker, { schema: { type: 'no such type' } })))
      })
      assert.equal([code, turns], ['manifest-invalid', 3])
      assert.is((await eventsOf(home, 'r', 'ManifestRegistered')).length, 1)
    },
  )

  steps('what an agent supersedes, with its reason, may change', async () => {
    await using home = await open()
    const reason = 'restated by the company'
    const context = await home.process().run({ id: 'r' }, async (run) => {
      await run.handoff({ facts: { revenue: 1 } }, { agent: 'seed' })
      const supersedes = (payload: JsonObject) =>
        Object.keys(payload.facts ?? {}).map((key) => ({ path: `/facts/${key}`, reason }))
      await run.step('auditor', () => ({ facts: { revenue: 2 } }), { supersedes })
      return (await run.context()).context
    })
    assert.equal(context, { facts: { revenue: 2 } })
  })

  steps('a turn that takes too long is a failure, not a doubt: the run goes on and ends', async () => {
    await using home = await open()
    const outcome = await home.process().run({ id: 'r' }, async (run) => {
      const slow = run.step('slow', () => new Promise(() => undefined), { timeout: 20, manifest: { maxTokens: 9 } })
      return (await rejection(slow)) instanceof Error
    })
    assert.is(outcome, true)
    assert.is((await eventsOf(home, 'r', 'RunCompleted')).length, 1)
    assert.equal(await spentBy(home, 'r'), [['slow', 9]], 'it may have cost what was held')
  })

  steps('a step that nobody awaits is handed over before the run ends', async () => {
    await using home = await open()
    await home.process().run({ id: 'r' }, async (run) => {
      void run.step('late', async () => {
        await new Promise((resolve) => setImmediate(resolve))
        return 'done'
      })
    })
    assert.is((await eventsOf(home, 'r', 'EnvelopeAccepted')).length, 1)
  })

  steps('replayed, no agent is called, and a step that failed fails again', async () => {
    await using home = await open()
    let turns = 0
    const life = (cs: Countersign, how: 'run' | 'replay') => {
      const body = async (run: Run<null>) => {
        const say = (_: JsonObject, { attempt }: StepContext) => {
          turns += 1
          return attempt === 1 ? { entities: [] } : { summary: attempt }
        }
        await run.handoff(apple, { agent: 'seed' })
        const repaired = await run.step('writer', say, { mode: 'merge', repairs: 1 })
        const failed = await run.step('silent', () => Promise.reject(new RangeError('mute'))).catch(String)
        const refused = await run
          .step('writer', say, { mode: 'replace' })
          .catch((error: HandoffRefused) => error.findings.length)
        return { repaired: repaired.payload, failed, refused, context: (await run.context()).context }
      }
      return how === 'run' ? cs.run({ id: 'r' }, body) : cs.replay('r', body).then(({ output }) => output)
    }
    const live = await life(home.process(), 'run')
    assert.is(turns, 3)
    assert.equal(await life(home.process(), 'replay'), live)
    assert.is(turns, 3)
    assert.equal(live?.context, { ...apple, summary: 2 })
  })

  steps.run()
}
