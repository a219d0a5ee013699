import { setImmediate as nextTurn } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Append, AppendResult } from '../../src/store/event-store.ts'
import { AppendQueue, QUEUE_LIMITS, type QueueLimits } from '../../src/store/sqlite/append-queue.ts'
import type { AppendGroup, GroupOutcome } from '../../src/store/sqlite/writer-protocol.ts'
import { appendOf } from '../support/records.ts'
import { failure } from './contract.ts'

const test = suite('append queue')

/** A queue whose writer answers only when told to. */
function started(limits: Partial<QueueLimits> = {}) {
  const queue = new AppendQueue({ ...QUEUE_LIMITS, ...limits })
  const posted: AppendGroup[] = []
  queue.start((group) => posted.push(group))
  const add = (append: Append = appendOf('run-acme.r1', 0), bytes = 100): Promise<AppendResult> =>
    queue.add(append, bytes)
  return { queue, posted, add }
}

function committed(before: number): GroupOutcome {
  return { kind: 'committed', before, refusals: new Map() }
}

function sizes(posted: readonly AppendGroup[]): readonly number[] {
  return posted.map(({ counts }) => counts.length)
}

test('what is requested in one turn leaves in one group, at its end', async () => {
  const { posted, add } = started()
  for (let each = 0; each < 10; each += 1) void add()
  assert.equal(sizes(posted), [])
  await nextTurn()
  assert.equal(sizes(posted), [10])
})

test('of many appends in one turn the writer gets the first few at once, and the next group when it is worth a commit of its own', async () => {
  const { posted, add } = started()
  for (let each = 0; each < 16; each += 1) void add()
  assert.equal(sizes(posted), [16])
  for (let each = 0; each < 27; each += 1) void add()
  assert.equal(sizes(posted), [16])
  void add()
  assert.equal(sizes(posted), [16, 28])
})

test('what comes behind the first group leaves at the end of the turn, few as it is', async () => {
  const { posted, add } = started()
  for (let each = 0; each < 20; each += 1) void add()
  await nextTurn()
  assert.equal(sizes(posted), [16, 4])
})

test('while the writer is busy everything gathers, and leaves together when it is done', async () => {
  const { queue, posted, add } = started()
  for (let turn = 0; turn < 20; turn += 1) {
    void add()
    await nextTurn()
  }
  const handedOver = posted.length
  assert.ok(handedOver < 4, 'few groups are in the writer’s hands')
  queue.settle(1, committed(0))
  assert.equal(sizes(posted).at(-1), 20 - handedOver)
})

test('a group stays within its records and bytes, but an append is never cut', async () => {
  const byRecords = started({ groupRecords: 10 })
  for (let each = 0; each < 6; each += 1) void byRecords.add(appendOf('run-acme.r1', 0, 4))
  await nextTurn()
  byRecords.queue.settle(1, committed(0))
  assert.equal(sizes(byRecords.posted).slice(0, 3), [2, 2, 2])

  const byBytes = started({ groupBytes: 1_000 })
  for (const bytes of [400, 400, 400, 5_000]) void byBytes.add(appendOf('run-acme.r1', 0), bytes)
  await nextTurn()
  byBytes.queue.settle(1, committed(0))
  assert.equal(sizes(byBytes.posted), [2, 1, 1])
})

test('positions are counted over the appends that were written', async () => {
  const { queue, add } = started()
  const results = [
    add(appendOf('run-acme.a', 4, 2)),
    add(appendOf('run-acme.b', 0, 3)),
    add(appendOf('run-acme.c', -1, 1)),
  ]
  await nextTurn()
  queue.settle(1, { kind: 'committed', before: 10, refusals: new Map([[1, { kind: 'conflict', actual: 7 }]]) })
  assert.equal(await Promise.all(results), [
    { kind: 'appended', revision: 6, position: '12' },
    { kind: 'conflict', actual: 7 },
    { kind: 'appended', revision: 0, position: '13' },
  ])
})

test('past its bounds the queue refuses at once instead of growing, and takes again when it has drained', async () => {
  const limits: readonly Partial<QueueLimits>[] = [{ waitingRecords: 50 }, { waitingBytes: 5_000 }]
  for (const limit of limits) {
    const { queue, posted, add } = started(limit)
    const results = Array.from({ length: 80 }, () => add())
    const refused = await Promise.all(results.slice(50))
    assert.ok(refused.every((result) => result.kind === 'unavailable' && result.retryAfterMs > 0))
    for (let settled = 0; settled < posted.length || settled === 0; settled += 1) {
      await nextTurn()
      queue.settle(settled + 1, committed(0))
    }
    assert.ok((await Promise.all(results.slice(0, 50))).every(({ kind }) => kind === 'appended'))
    void add()
    await nextTurn()
    assert.is(posted.at(-1)?.counts.length, 1)
  }
})

test('after a failure nothing is in doubt but what the writer had begun', async () => {
  const { queue, add } = started({ groupRecords: 1 })
  const results = [add(), add(), add(), add()]
  await nextTurn()
  queue.stop('the disk failed')
  queue.settle(1, { kind: 'failed', result: { kind: 'unknown', detail: 'EIO' } })
  queue.settleInFlight({ kind: 'unavailable', detail: 'not begun', retryAfterMs: 1 })
  assert.equal(
    (await Promise.all(results)).map(({ kind }) => kind),
    ['unknown', 'unavailable', 'unavailable', 'unavailable'],
  )
  assert.is((await add()).kind, 'unavailable')
})

test('rows that fit no table reject their own promise only', async () => {
  const { queue, add } = started()
  const [bad, good] = [failure(add()), add()]
  await nextTurn()
  queue.settle(1, { kind: 'committed', before: 0, refusals: new Map([[0, { kind: 'invalid', detail: 'datatype' }]]) })
  assert.instance(await bad, TypeError)
  assert.is((await good).kind, 'appended')
})

test('a drain ends when the last append is answered, and takes no more', async () => {
  const { queue, add } = started()
  const result = add()
  let drained = false
  const draining = queue.drain().then(() => {
    drained = true
  })
  assert.is((await add()).kind, 'unavailable')
  await nextTurn()
  assert.not(drained)
  queue.settle(1, committed(0))
  await draining
  assert.is((await result).kind, 'appended')
})

test.run()
