import { setImmediate as nextTurn } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Append, type AppendResult, NO_STREAM } from '../../src/store/event-store.ts'
import { AppendGroups, GROUP_LIMITS, type GroupLimits } from '../../src/store/postgres/append-groups.ts'
import { appendOf } from '../support/records.ts'

const test = suite('append groups')

interface Sent {
  readonly streams: readonly string[]
  readonly answer: (result?: (append: Append) => AppendResult) => Promise<void>
}

const written = ({ expectedRevision, records }: Append): AppendResult => ({
  kind: 'appended',
  revision: expectedRevision + records.length,
  position: '1',
})

/** Groups whose transactions end when they are told to. */
function started(limits: Partial<GroupLimits> = {}) {
  const sent: Sent[] = []
  const groups = new AppendGroups(
    (appends) =>
      new Promise((resolve) => {
        const answer: Sent['answer'] = async (result = written) => {
          resolve(appends.map(result))
          await nextTurn()
        }
        sent.push({ streams: appends.map(({ stream }) => stream), answer })
      }),
    { ...GROUP_LIMITS, ...limits },
  )
  const results = new Map<string, string>()
  const add = async (stream: string, revision = NO_STREAM): Promise<void> => {
    void groups.add(appendOf(stream, revision), 100).then(({ kind }) => results.set(`${stream}@${revision}`, kind))
    await nextTurn()
  }
  const streams = (): readonly (readonly string[])[] => sent.map((group) => group.streams)
  return { groups, sent, streams, results, add }
}

test('two groups are under way at once, and what comes meanwhile leaves together with the first that ends (STR-37)', async () => {
  const { sent, streams, results, add } = started()
  for (const stream of ['a', 'b', 'd', 'c']) await add(stream)
  assert.equal(streams(), [['a'], ['b']])
  await sent[1]?.answer()
  assert.equal(streams(), [['a'], ['b'], ['c', 'd']])
  assert.equal([...results], [['b@-1', 'appended']])
})

test('appends of one stream are never under way side by side: the next one leaves when the one before has its answer (STR-37)', async () => {
  const { sent, streams, results, add } = started()
  await add('a')
  await add('a', 0)
  await add('a', 1)
  await add('b')
  assert.equal(streams(), [['a'], ['b']])
  await sent[1]?.answer()
  assert.equal(streams().length, 2, 'what builds on a group under way waits, though a connection is free')
  await sent[0]?.answer()
  assert.equal(streams(), [['a'], ['b'], ['a']])
  await sent[2]?.answer()
  await sent[3]?.answer()
  assert.equal([...results.keys()], ['b@-1', 'a@-1', 'a@0', 'a@1'])
  assert.equal([...new Set(results.values())], ['appended'])
})

test('a group that fails takes with it what builds on it, and nothing of the other group or behind it (STR-37)', async () => {
  const { sent, results, add } = started()
  await add('a')
  await add('b')
  await add('a', 0)
  await add('b', 0)
  await add('c')
  await sent[0]?.answer(() => ({ kind: 'unknown', detail: 'the answer was lost' }))
  await sent[1]?.answer()
  for (const group of sent.slice(2)) await group.answer()
  assert.equal(Object.fromEntries(results), {
    'a@-1': 'unknown',
    'a@0': 'conflict',
    'b@-1': 'appended',
    'b@0': 'appended',
    'c@-1': 'appended',
  })
  assert.ok(sent.slice(2).every(({ streams }) => !streams.includes('a')))
})

test('a group is sent by stream, in whichever order its appends came (F176)', async () => {
  const { groups, streams } = started()
  for (const stream of ['c', 'a', 'd', 'b']) void groups.add(appendOf(stream, NO_STREAM), 100)
  await nextTurn()
  assert.equal(streams(), [['a', 'b', 'c', 'd']])
})

test('groups stay within their records and bytes, side by side too', async () => {
  const { groups, streams } = started({ groupRecords: 2 })
  for (const stream of ['a', 'b', 'c', 'd', 'e']) void groups.add(appendOf(stream, NO_STREAM), 100)
  await nextTurn()
  assert.equal(streams(), [
    ['a', 'b'],
    ['c', 'd'],
  ])
})

test('a drain ends when every group under way has its answer, and takes no more', async () => {
  const { groups, sent, add } = started()
  await add('a')
  await add('b')
  let drained = false
  const draining = groups.drain().then(() => {
    drained = true
  })
  assert.is((await groups.add(appendOf('c', NO_STREAM), 100)).kind, 'unavailable')
  await sent[1]?.answer()
  assert.not(drained)
  await sent[0]?.answer()
  await draining
})

test.run()
