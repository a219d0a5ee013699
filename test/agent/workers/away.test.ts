/** Workers whose ledger, or whose token, is gone in the middle of a tool. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { httpConnection } from '../../../src/agent/runtime/http-connection.ts'
import { createRuntime } from '../../../src/agent/runtime/runtime.ts'
import { type ClientOptions, createClient } from '../../../src/client/client.ts'
import { testEdge } from '../../support/test-edge.ts'
import { eventually, within } from '../../support/within.ts'
import { QUICK } from './place.ts'

const test = suite('a worker that loses its ledger')

async function home(more: (good: string) => Partial<ClientOptions>) {
  const edge = await testEdge({ realClock: true })
  const good = await edge.token()
  const ledger = { isGone: false }
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    if (ledger.isGone) throw new TypeError('fetch failed')
    return edge.app.request(url, init)
  }
  const options = { url: 'http://ledger.test', token: good, fetch, backoffMs: 1 }
  const told: { readonly error: Error; readonly runId: string | undefined }[] = []
  return {
    ledger,
    told,
    other: createRuntime(httpConnection(createClient(options))),
    cs: createRuntime(httpConnection(createClient({ ...options, ...more(good) }))),
    worker: { ...QUICK, onError: (error: unknown, runId?: string) => void told.push({ error: error as Error, runId }) },
    [Symbol.asyncDispose]: () => edge[Symbol.asyncDispose](),
  }
}

for (const at of ['a tool', 'code of its own', 'a wait'] as const) {
  test(`tells onError of a run that it left in ${at}, when it is stopped (A596, RUN-278)`, async () => {
    await using over = await home(() => ({ retries: 0 }))
    const { cs, ledger, told } = over
    const begun = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<void>()
    const work = async (): Promise<string> => {
      begun.resolve()
      await gone.promise
      return 'done'
    }
    const slow = cs.tool(work, { name: 'slow', compensate: 'not-needed' })
    const worker = cs.worker({
      ...over.worker,
      runs: {
        order: async (run) => {
          if (at === 'a tool') return slow()
          await work()
          return at === 'a wait' ? run.sleep(60_000) : undefined
        },
      },
    })
    await over.other.start('order', null, { id: 'r' })
    await within(begun.promise, 'the begin of the work')
    ledger.isGone = true
    const stopped = worker.stop()
    gone.resolve()
    await within(stopped, 'the end of the worker')
    const of = told.filter(({ runId }) => runId === 'r')
    assert.is(of.length, 1, JSON.stringify(told))
    assert.match(of[0]?.error.message ?? '', /cannot be reached/)
  })
}

for (const how of ['throws', 'gives an old token'] as const) {
  test(`through a token function that ${how} for a moment as a call is settled: the outcome is recorded (A595, RUN-289)`, async () => {
    let fails = 0
    let asked = 0
    await using over = await home((good) => ({
      token: () => {
        if (fails === 0) return good
        fails -= 1
        asked += 1
        if (how === 'throws') throw new Error('the issuer is down')
        return 'old'
      },
    }))
    const { cs, told } = over
    let effects = 0
    const pay = cs.tool(
      () => {
        effects += 1
        fails = 4
        return 'paid'
      },
      { name: 'pay', compensate: 'not-needed' },
    )
    await using _ = cs.worker({ ...over.worker, runs: { order: async () => pay() } })
    await over.other.start('order', null, { id: 'r' })
    assert.is(await within(over.other.result('r'), 'the result'), 'paid')
    assert.equal([effects, asked, told], [1, 4, []])
  })
}

test('through a token function that goes on throwing: onError names what it threw (RUN-289)', async () => {
  let isBroken = false
  await using over = await home((good) => ({
    retries: 0,
    token: () => {
      if (isBroken) throw new Error('the issuer is down')
      return good
    },
  }))
  const { cs, told } = over
  const breaks = (): void => {
    isBroken = true
  }
  const pay = cs.tool(breaks, { name: 'pay', compensate: 'not-needed' })
  const worker = cs.worker({ ...over.worker, runs: { order: async () => pay() } })
  await over.other.start('order', null, { id: 'r' })
  await eventually(() => (isBroken ? true : undefined), 'the call')
  await within(worker.stop(), 'the end of the worker')
  assert.match(told.find(({ runId }) => runId === 'r')?.error.message ?? '', /the issuer is down/)
})

test.run()
