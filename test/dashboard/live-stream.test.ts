import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type LiveOptions, liveResponse } from '../../src/dashboard/live-stream.ts'
import { within } from '../support/within.ts'

const test = suite('dashboard: live streams')

/** One frame, then nothing until it is told to stop. */
async function* waiting(signal: AbortSignal): AsyncGenerator<string> {
  yield 'data: first\n\n'
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
}

function opened(more: Partial<LiveOptions> = {}) {
  const [draining, over] = [new AbortController(), new AbortController()]
  let ended = 0
  const response = liveResponse({
    deps: { draining: draining.signal, heartbeatMs: 60_000, now: Date.now },
    expiresAt: Date.now() + 3_600_000,
    over: over.signal,
    ended: () => {
      ended += 1
    },
    frames: waiting,
    ...more,
  })
  return { response, draining, over, ended: () => ended }
}

test('a stream ends with its token, with its session and with the server, and gives its slot back once', async () => {
  const expired = opened({ expiresAt: Date.now() + 30 })
  assert.is(await within(5_000, expired.response.text()), 'data: first\n\n')
  const { response, over, ended } = opened()
  over.abort()
  await within(5_000, response.text())
  const stopped = opened()
  stopped.draining.abort()
  await within(5_000, stopped.response.text())
  assert.equal([expired.ended(), ended(), stopped.ended()], [1, 1, 1])
})

test('a reader who leaves gives the slot back, and one who does not read is not fed', async () => {
  const left = opened()
  const reader = left.response.body?.getReader()
  await reader?.read()
  await reader?.cancel()
  assert.is(left.ended(), 1)

  const deps = { draining: new AbortController().signal, heartbeatMs: 1, now: Date.now }
  const idle = opened({ deps })
  await new Promise((resolve) => setTimeout(resolve, 100))
  idle.over.abort()
  const text = await within(5_000, idle.response.text())
  assert.ok([...text.matchAll(/:\n\n/g)].length <= 6, text)
})

test('a source that breaks ends its stream instead of leaving it open', async () => {
  const { response, ended } = opened({
    frames: async function* () {
      yield 'data: x\n\n'
      throw new Error('boom')
    },
  })
  assert.is(await within(5_000, response.text()), 'data: x\n\n')
  assert.is(ended(), 1)
})

test.run()
