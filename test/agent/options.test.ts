import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { AgentError } from '../../src/agent/errors.ts'
import { connect, open } from '../../src/agent/index.ts'
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

options('options of a run are judged before it starts (RUN-163)', async () => {
  await using at = await home?.open()
  const cs = at?.process()
  const wrong: Record<string, [unknown, unknown]> = {
    budgets: [{ tokens: 1 }, 'budget'],
    whenOwned: ['joined', undefined],
    whenWaiting: ['stop', undefined],
    tags: ['a', undefined],
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
})

options.run()
