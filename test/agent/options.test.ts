import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ClaimCall } from '../../schemas/requests.ts'
import type { ToolOptions } from '../../src/agent/calls/tool-options.ts'
import { AgentError } from '../../src/agent/errors.ts'
import { connect, open } from '../../src/agent/index.ts'
import { agent } from '../../src/agent/loop/agent.ts'
import { ScriptedModel } from '../../src/agent/loop/scripted-model.ts'
import { trackOpenAI } from '../../src/agent/models/track-openai.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { RunOptions } from '../../src/agent/runtime/run-options.ts'
import { HOMES, rejection } from './homes.ts'

const options = suite('options')

function thrown(work: () => unknown): AgentError {
  try {
    work()
  } catch (error) {
    assert.instance(error, AgentError)
    return error as AgentError
  }
  throw new Error('it should have thrown')
}

const [home] = HOMES
const pay = async (cents: number) => cents

options(
  'an option that a tool does not have is an error where the tool is made, with the nearest name (RUN-163)',
  async () => {
    await using at = await home?.open()
    const cs = at?.process()
    for (const [given, nearest] of Object.entries({
      compensation: 'compensate',
      retry: 'retries',
      timeoutMs: 'timeout',
      onunknown: 'onUnknown',
      zebra: undefined,
    })) {
      const error = thrown(() => cs?.tool(pay, { [given]: 1 } as never))
      assert.is(error.code, 'invalid-option')
      assert.equal([error.evidence.option, error.evidence.nearest], [given, nearest])
      assert.match(error.message, nearest === undefined ? 'the options are name,' : `did you mean ${nearest}?`)
      assert.match(error.message, 'cs.tool(pay): ')
    }
    assert.is(cs?.tools.length, 0, 'nothing was registered')
    assert.is(thrown(() => cs?.tool({ name: 'pay', execut: pay } as never)).evidence.nearest, 'execute')
    for (const first of ['pay', { name: 'pay' }, null, undefined])
      assert.match(thrown(() => cs?.tool(first as never, pay as never)).message, 'its first argument is the function')
  },
)

options(
  'a value that an option does not take is an error where the tool is made, and says what it takes (RUN-163)',
  async () => {
    await using at = await home?.open()
    const cs = at?.process()
    const wrong: Record<string, unknown> = {
      timeout: '5s',
      retries: -1,
      backoff: { type: 'linear', delayMs: 1 },
      compensate: { undo: pay },
      onUnknown: 'again',
      check: 'yes',
      leaseMs: Number.NaN,
      reserve: { tokens: 1.5 },
      approve: { when: 'args[0] >' },
      dedupe: true,
      alias: 'old',
    }
    for (const [option, value] of Object.entries(wrong)) {
      const error = thrown(() => cs?.tool(pay, { [option]: value } as never))
      assert.equal([error.code, error.evidence.option], ['invalid-option', option])
    }
    assert.match(
      thrown(() => cs?.tool(pay, { timeout: '5s' } as never)).message,
      'timeout takes a number of milliseconds, such as 5_000',
    )
    assert.match(thrown(() => cs?.tool(pay, { timeout: '5s' } as never)).message, 'not "5s"')
    assert.match(
      thrown(() => cs?.tool(pay, { compensate: { undo: pay } } as never)).message,
      'there is no option undo: the options are run',
    )
    const every = {
      ...{
        name: 'pay',
        description: '',
        parameters: {},
        alias: ['old'],
        compensate: 'not-needed',
        compensationRetries: 1,
      },
      ...{ compensateUnknown: false, check: () => undefined, retries: Number.POSITIVE_INFINITY, retryScope: 'tool' },
      ...{ backoff: { type: 'fixed', delayMs: 0 }, onFailure: 'continue', timeout: 5_000, onUnknown: 'retry' },
      ...{
        dedupe: 'args',
        key: () => 'k',
        leaseMs: 1_000,
        reserve: { cost: '1.00 USD' },
        usage: () => ({}),
        stream: false,
      },
      ...{
        approve: { when: 'args[0] > 5', quorum: 2, roles: ['a'] },
        record: undefined,
        onTooLarge: 'refuse',
        unreachable: 'stop',
      },
    }
    cs?.tool(pay, every as never)
  },
)

/** Of each option values that it does not take, at the edges of what the ledger takes among them. */
const WRONG: { readonly [Option in keyof Required<ToolOptions>]: readonly unknown[] } = {
  name: [5, 'x'.repeat(257)],
  description: [5],
  parameters: ['object'],
  errors: [Error, 'Error'],
  alias: ['old', [''], ['x'.repeat(257)]],
  compensate: [{}, { onUnknown: 'retry' }, { run: 1 }, 5, '', 'x'.repeat(257)],
  compensationRetries: [-1, 1.5, Number.NaN],
  compensateUnknown: ['yes'],
  check: [true],
  retries: [-1, 1.5, Number.NaN, '3'],
  backoff: [{}, { type: 'fixed' }, { delayMs: 1 }, { type: 'fixed', delayMs: -1 }],
  retryScope: ['saga'],
  onFailure: ['skip'],
  effects: [true],
  timeout: [0, -1, Number.NaN, 2 ** 31],
  onUnknown: ['ignore'],
  dedupe: ['arg'],
  key: ['k'],
  leaseMs: [0, 99, 100.5, 10 * 60_000 + 1],
  reserve: [
    ...[{ cost: '1.00' }, { cost: '-1 USD' }, { cost: '1.00 usd' }, { cost: '1.00 USD more' }, { cost: 1 }],
    ...[{ tokens: -1 }, { tokens: 1.5 }, { tokens: 1_000_000_001 }, { agent: '' }, { agent: 'x'.repeat(257) }],
    ...[{ deadlineMs: 0 }, { deadlineMs: 24 * 60 * 60_000 + 1 }],
  ],
  usage: [{ tokens: 1 }],
  approve: [
    ...[{ quorum: 0 }, { quorum: 17 }, { quorum: 1.5 }, { roles: [] }, { roles: 'a' }, { roles: Array(65).fill('a') }],
    ...[{ expiresMs: 999 }, { expiresMs: 366 * 24 * 60 * 60_000 + 1 }, { reason: '' }, { reason: 'x'.repeat(1025) }],
    ...[{ when: '' }, { onDenied: 'stop' }, 'yes'],
  ],
  stream: ['yes'],
  record: ['none'],
  onTooLarge: ['rollback'],
  unreachable: ['go'],
}

options(
  'of every option of a tool each value that it does not take is refused where the tool is made (RUN-163)',
  async () => {
    await using at = await home?.open()
    const cs = at?.process()
    for (const [option, values] of Object.entries(WRONG)) {
      for (const value of values) {
        const error = thrown(() => cs?.tool(pay, { [option]: value } as never))
        assert.equal([error.code, error.evidence.option], ['invalid-option', option], JSON.stringify(value))
      }
    }
    for (const input of [{ type: 'object' }, 5, { '~standard': {} }])
      assert.is(thrown(() => cs?.tool({ name: 'p', input, execute: pay } as never)).evidence.option, 'input')
    assert.is(cs?.tools.length, 0, 'nothing was registered')
  },
)

options(
  'at its edges a tool takes of an option what the schemas of the ledger take, and nothing else (RUN-163)',
  async () => {
    await using at = await home?.open()
    const cs = at?.process()
    const takes = (option: string, value: unknown): boolean => {
      try {
        cs?.tool(pay, { name: `t${n++}`, [option]: value } as never)
        return true
      } catch {
        return false
      }
    }
    let n = 0
    const claim = { tool: 't', args: null }
    for (const leaseMs of [0, 1, 99, 100, 101, 599_999, 600_000, 600_001])
      assert.is(takes('leaseMs', leaseMs), ClaimCall.safeParse({ ...claim, leaseMs }).success, `leaseMs ${leaseMs}`)
    const day = 24 * 60 * 60_000
    for (const reserve of [
      ...[0, 1, day, day + 1].map((deadlineMs) => ({ deadlineMs })),
      ...[-1, 0, 1e9, 1e9 + 1].map((tokens) => ({ tokens })),
      ...['', 'a', 'x'.repeat(256), 'x'.repeat(257)].map((agent) => ({ agent })),
    ])
      assert.is(takes('reserve', reserve), ClaimCall.safeParse({ ...claim, reserve }).success, JSON.stringify(reserve))
    for (const cost of ['0', '1.00', '1.', '-1', '1e3', '01', '999999999.999999999', '1000000000', '0.0000000001']) {
      const reserve = { cost, currency: 'USD' }
      assert.is(takes('reserve', { cost: `${cost} USD` }), ClaimCall.safeParse({ ...claim, reserve }).success, cost)
    }
    for (const approve of [
      ...[0, 1, 16, 17].map((quorum) => ({ quorum })),
      ...[999, 1_000, 366 * day, 366 * day + 1].map((expiresMs) => ({ expiresMs })),
      ...[0, 1, 64, 65].map((length) => ({ roles: Array.from({ length }, () => 'a') })),
      ...[0, 1, 1024, 1025].map((length) => ({ reason: 'x'.repeat(length) })),
    ])
      assert.is(takes('approve', approve), ClaimCall.safeParse({ ...claim, approve }).success, JSON.stringify(approve))
    for (const length of [1, 256, 257])
      assert.is(takes('name', 'x'.repeat(length)), ClaimCall.safeParse({ ...claim, tool: 'x'.repeat(length) }).success)
  },
)

options('options of a run are judged before it starts (RUN-163)', async () => {
  await using at = await home?.open()
  const cs = at?.process()
  const wrong: Record<string, [unknown, unknown]> = {
    budgets: [{ tokens: 1 }, 'budget'],
    whenOwned: ['joined', undefined],
    whenWaiting: ['stop', undefined],
    tags: ['a', undefined],
    name: ['x'.repeat(257), undefined],
    signal: [{}, undefined],
  }
  for (const [option, [value, nearest]] of Object.entries(wrong)) {
    const given = { id: 'r', name: 'r', [option]: value } as RunOptions<null>
    const error = (await rejection(cs?.run(given, () => 1) ?? Promise.resolve())) as AgentError
    assert.equal([error.code, error.evidence.option, error.evidence.nearest], ['invalid-option', option, nearest])
    assert.is(((await rejection(cs?.saga([], given) ?? Promise.resolve())) as AgentError).evidence.option, option)
  }
  for (const policy of ['relay', { ungrounded: 'off' }] as const) await cs?.run({ detached: true, policy }, () => 1)
  const inBudget = await rejection(
    cs?.run({ name: 'r', budget: { token: 1 } } as RunOptions<null>, () => 1) ?? Promise.resolve(),
  )
  assert.match((inBudget as Error).message, 'did you mean tokens?')
  const runs: unknown[] = []
  for await (const { name } of cs?.runs() ?? []) runs.push(name)
  assert.equal(runs, ['run', 'run'], 'of those that were refused none')
})

options('options of a runtime and of its ledger are judged where it is opened (RUN-163)', async () => {
  assert.match(
    ((await rejection(open({ paht: ':memory:' } as never))) as Error).message,
    'open: there is no option paht: did you mean path?',
  )
  assert.match(((await rejection(open({ path: 7 } as never))) as Error).message, 'path takes a text')
  const at = { url: 'http://127.0.0.1:1', token: 't' }
  assert.is(thrown(() => connect({ ...at, codec: [] } as never)).evidence.nearest, 'codecs')
  assert.is(thrown(() => connect({ ...at, retries: '5' } as never)).evidence.option, 'retries')
  assert.is(thrown(() => connect({ ...at, token: 7 } as never)).evidence.option, 'token')
  for (const [option, value] of Object.entries({ url: 'localhost:7070', token: 'a\nb', prices: null, timeoutMs: -1 }))
    assert.is(thrown(() => connect({ ...at, [option]: value } as never)).evidence.option, option)
  assert.is(thrown(() => connect({} as never)).evidence.option, 'url')
  for (const [option, value] of Object.entries({ tenant: 'a b/c', actor: 'x'.repeat(257), roles: [''], serve: null })) {
    const error = (await rejection(open({ path: ':memory:', [option]: value } as never))) as AgentError
    assert.equal([error.code, error.evidence.option], ['invalid-option', option])
  }
})

/** Of each request of a run's code, and of an agent, options that it does not take. */
const MISSAID: Readonly<Record<string, readonly ((run: Run<null>, tool: never) => unknown)[]>> = {
  'run.once': [(run) => run.once('n'.repeat(248), () => 1), (run) => run.once('a', () => 1, { lease: 5 } as never)],
  'run.now': [(run) => run.now({ leaseMs: 5 })],
  'run.patched': [(run) => run.patched('p'.repeat(257))],
  'run.scope': [(run) => run.scope('s'.repeat(1025), () => 1), (run) => run.scope(5 as never, () => 1)],
  'the path': [(run) => run.scope('s'.repeat(600), (one) => one.scope('t'.repeat(600), (two) => two.uuid()))],
  'run.waitFor': [(run) => run.waitFor('go', { timeout: 5 } as never)],
  'until is': [(run) => run.sleep(1e15), (run) => run.sleep(new Date(8e15))],
  'run.handoff': [
    (run) => run.handoff({ a: 1 }, { agent: 'a', mode: 'merged' as never }),
    (run) => run.handoff({ a: 1 }, { agent: 'a', supersede: [] } as never),
    (run) => run.handoff({ a: 1 }, { agent: 'a', tokens: 1.5 }),
    (run) => run.handoff({ a: 1 }, { agent: 'a', supersedes: [{ path: '/a' } as never] }),
    (run) => run.handoff({ a: 1 }, { agent: 'a', manifest: { read: [] } as never }),
    (run) => run.handoff({ a: 1 }, {} as never),
  ],
  'run.rollback': [(run) => run.rollback({ reason: '' }), (run) => run.rollback({ step: 1 } as never)],
  'run.step': [
    (run) => run.step('', () => ({})),
    (run) => run.step('a', () => ({}), { repair: 1 } as never),
    (run) => run.step('a', () => ({}), { retries: -1 }),
  ],
  'run.fork': [
    (run) => run.fork([{ agent: 'a', run: () => ({}) }], { join: 'unoin' as never }),
    (run) => run.fork([{ agent: 'a', run: () => ({}) }], { join: 'union', discard: 1 } as never),
    (run) => run.fork([{ agent: 'a', fn: () => ({}) } as never], { join: 'union' }),
    (run) => run.fork(Array(65).fill({ agent: 'a', run: () => ({}) }), { join: 'union' }),
  ],
  'run.saga': [(run) => run.saga([], { nme: 'x' } as never)],
  'step 1': [(run, tool) => run.saga([{ tool, arg: [1] } as never])],
  'run.model': [
    (run) => run.model({ provider: 'p', model: 'm', request: 1, call: () => 1, usages: 1 } as never),
    (run) => run.model({ provider: 'p', model: 'm', request: 1, call: () => 1, maxOutputTokens: -1 }),
  ],
  agent: [
    () => agent({ model: new ScriptedModel(['a']), tools: [], maxTurn: 3 } as never),
    () => agent({ model: new ScriptedModel(['a']), tools: [], maxTurns: 0 }),
    () => agent({ model: 'gpt' as never, tools: [] }),
  ],
  conversation: [() => agent({ model: new ScriptedModel(['a']), tools: [] }).generate({ promt: 'x' } as never)],
  trackOpenAI: [() => trackOpenAI({}, { retrys: 1 } as never)],
}

options(
  'what the code of a run requests is judged where it is said, and nothing is recorded of it (RUN-192)',
  async () => {
    await using at = await home?.open()
    const cs = at?.process()
    const tool = cs?.tool(pay, { name: 'pay' }) as never
    await cs?.run({ id: 'said', name: 'said' }, async (run) => {
      for (const [of, asks] of Object.entries(MISSAID)) {
        for (const [i, ask] of asks.entries()) {
          const error = (await rejection(Promise.resolve().then(() => ask(run as never, tool)))) as AgentError
          assert.match(error.message, of, `${of} ${i}`)
          assert.is(error.code, of === 'until is' ? 'invalid-wait' : 'invalid-option', `${of} ${i}`)
        }
      }
      return null
    })
    const events: string[] = []
    for await (const { type } of at?.connection.events('said') ?? []) events.push(type)
    assert.equal(events, ['RunStarted', 'RunCompleted'])
  },
)

options.run()
