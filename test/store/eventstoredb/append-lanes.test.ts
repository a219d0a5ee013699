import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Append, AppendResult } from '../../../src/store/event-store.ts'
import { AppendLanes } from '../../../src/store/eventstoredb/append-lanes.ts'
import { appendOf } from '../../support/records.ts'

const test = suite('one append of a stream under way at a time')

interface Sent {
  readonly append: Append
  readonly answer: (result: AppendResult) => void
  readonly fail: (error: unknown) => void
}

/** Lanes whose sends wait for the test's answer. */
function setUp(waitingAppends = 100, waitingBytes = 10_000): { readonly lanes: AppendLanes; readonly sent: Sent[] } {
  const sent: Sent[] = []
  const lanes = new AppendLanes((append) => new Promise((answer, fail) => sent.push({ append, answer, fail })), {
    waitingAppends,
    waitingBytes,
  })
  return { lanes, sent }
}

const appended = (revision: number): AppendResult => ({
  kind: 'appended',
  revision,
  position: `${revision}/${revision}`,
})
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('the next append of a stream is sent when the one before it is answered; other streams do not wait', async () => {
  const { lanes, sent } = setUp()
  const results = [
    lanes.append(appendOf('a', -1), 10),
    lanes.append(appendOf('a', 0), 10),
    lanes.append(appendOf('b', -1), 10),
  ]
  assert.equal(
    sent.map(({ append }) => append.stream),
    ['a', 'b'],
  )
  sent[0]?.answer(appended(0))
  await turn()
  assert.is(sent[2]?.append.expectedRevision, 0)
  sent[1]?.answer(appended(0))
  sent[2]?.answer(appended(1))
  assert.equal(await Promise.all(results), [appended(0), appended(1), appended(0)])
  await lanes.idle()
})

test('an append built on one that failed is never sent, however long the chain', async () => {
  for (const failure of [
    { kind: 'conflict', actual: 5 },
    { kind: 'unknown', detail: 'lost' },
    { kind: 'unavailable', detail: 'away', retryAfterMs: 1 },
  ] as const) {
    const { lanes, sent } = setUp()
    const results = [4, 5, 6, 7].map((expected) => lanes.append(appendOf('a', expected), 10))
    sent[0]?.answer(failure)
    const kinds = (await Promise.all(results)).map(({ kind }) => kind)
    const after = failure.kind === 'conflict' ? 'conflict' : 'unavailable'
    assert.equal(kinds, [failure.kind, after, after, after])
    assert.is(sent.length, 1)
  }
})

test('of two that expect the same, the followers of the loser fail and those of the winner go on', async () => {
  const { lanes, sent } = setUp()
  const winner = [lanes.append(appendOf('a', 0, 2), 10), lanes.append(appendOf('a', 2), 10)]
  const loser = [lanes.append(appendOf('a', 0, 5), 10), lanes.append(appendOf('a', 5), 10)]
  sent[0]?.answer(appended(2))
  await turn()
  sent[1]?.answer(appended(3))
  assert.equal(await Promise.all(winner), [appended(2), appended(3)])
  assert.equal(
    (await Promise.all(loser)).map(({ kind }) => kind),
    ['conflict', 'conflict'],
  )
  assert.is(sent.length, 2, 'what cannot succeed is not sent')
})

test('an append that no server would take fails alone, and what builds on it conflicts', async () => {
  const { lanes, sent } = setUp()
  const [bad, built, other] = [
    lanes.append(appendOf('a', 0), 10),
    lanes.append(appendOf('a', 1), 10),
    lanes.append(appendOf('a', 0, 2), 10),
  ]
  const refused = bad.catch((error: unknown) => error)
  sent[0]?.fail(new RangeError('too large'))
  assert.instance(await refused, RangeError)
  assert.is((await built).kind, 'conflict')
  await turn()
  sent[1]?.answer(appended(2))
  assert.equal(await other, appended(2))
})

test('more than the bound is refused, and taken again when there is room', async () => {
  const { lanes, sent } = setUp(2)
  const first = [lanes.append(appendOf('a', -1), 10), lanes.append(appendOf('b', -1), 10)]
  const refused = await lanes.append(appendOf('c', -1), 10)
  assert.is(refused.kind, 'unavailable')
  for (const each of sent) each.answer(appended(0))
  await Promise.all(first)
  await lanes.idle()
  const again = lanes.append(appendOf('c', -1), 10)
  sent[2]?.answer(appended(0))
  assert.equal(await again, appended(0))
})

test('what waits is bounded by its bytes, and counted until it is answered (F36)', async () => {
  const { lanes, sent } = setUp(100, 1_000)
  const first = lanes.append(appendOf('a', -1), 600)
  const second = lanes.append(appendOf('b', -1), 600)
  assert.is(lanes.waitingBytes, 1_200)
  assert.is((await lanes.append(appendOf('c', -1), 1)).kind, 'unavailable')
  sent[0]?.answer(appended(0))
  assert.is((await first).kind, 'appended')
  await turn()
  assert.is(lanes.waitingBytes, 600)
  const third = lanes.append(appendOf('c', -1), 1)
  for (const { answer } of sent.slice(1)) answer(appended(0))
  assert.equal([(await second).kind, (await third).kind], ['appended', 'appended'])
  await turn()
  assert.is(lanes.waitingBytes, 0)
})

test.run()
