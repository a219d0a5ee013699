import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  type Append,
  type EventStore,
  NO_STREAM,
  type StoreStatus,
  StoreWentBackError,
  StreamDeletedError,
} from '../../src/store/event-store.ts'
import { forwardOnly } from '../../src/store/forward-only-store.ts'
import type { KnownEvent } from '../../src/store/known-events.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { appendOf, collect } from '../support/records.ts'
import { within } from '../support/within.ts'
import { wrapStore } from '../support/wrap-store.ts'

const test = suite('a store that may only grow')

interface Held extends AsyncDisposable {
  readonly store: EventStore
  /** Puts the store that holds the first so many appends in place of the one that answered so far. */
  readonly rollBack: (appends: number) => Promise<EventStore>
  readonly noted: readonly KnownEvent[]
  readonly cut: readonly string[]
  readonly statuses: readonly StoreStatus[]
  status: Partial<StoreStatus>
}

/** A store whose place another one takes, behind the back of whoever works with it. */
function held(lookMs = 3_600_000): Held {
  const appends: Append[] = []
  const more: { status: Partial<StoreStatus> } = { status: {} }
  let inner = openMemoryStore()
  const [noted, cut, statuses]: [KnownEvent[], string[], StoreStatus[]] = [[], [], []]
  const place = wrapStore(openMemoryStore(), {
    append: async (append) => {
      const result = await inner.append(append)
      if (result.kind === 'appended') appends.push(append)
      return result
    },
    head: (stream) => inner.head(stream),
    end: () => inner.end(),
    recordAt: (position) => inner.recordAt(position),
    readStream: (...asked) => inner.readStream(...asked),
    readAll: (...asked) => inner.readAll(...asked),
    subscribe: (...asked) => inner.subscribe(...asked),
    status: () => ({ state: 'ready', ...more.status }),
  })
  const store = forwardOnly(place, {
    note: { place: '/data/store.db.lost', keep: (missing) => noted.push(missing) },
    isSealed: () => true,
    onStreamCut: ({ stream }) => cut.push(stream),
    onNoteFailed: (error) => {
      throw error
    },
    lookMs,
  })
  store.onStatus((status) => statuses.push(status))
  const rollBack = async (count: number): Promise<EventStore> => {
    inner = openMemoryStore()
    for (const append of appends.splice(0).slice(0, count)) await place.append(append)
    return inner
  }
  return Object.assign(more, {
    ...{ store, rollBack, noted, cut, statuses },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  })
}

async function filled(lookMs?: number): Promise<Held> {
  const all = held(lookMs)
  for (const stream of ['run-acme.a', 'run-acme.b']) {
    for (let revision = NO_STREAM; revision < 4; revision += 1)
      assert.is((await all.store.append(appendOf(stream, revision))).kind, 'appended')
  }
  return all
}

async function assertRefused(ask: () => Promise<unknown>, as: typeof StoreWentBackError | typeof StreamDeletedError) {
  const thrown = await ask().then(
    () => undefined,
    (error: unknown) => error,
  )
  assert.instance(thrown, as)
}

const ASKED: Readonly<Record<string, (store: EventStore) => Promise<unknown>>> = {
  'the head of a stream': (store) => store.head('run-acme.b'),
  'a stream': (store) => collect(store.readStream('run-acme.b')),
  'a stream backwards': (store) => collect(store.readStream('run-acme.b', { direction: 'backwards' })),
  'a stream from beyond its end': (store) => collect(store.readStream('run-acme.b', { from: 4 })),
  everything: (store) => collect(store.readAll()),
  'the end': (store) => store.end(),
}

for (const [what, ask] of Object.entries(ASKED)) {
  test(`an answer that is older than what was acknowledged is not given: ${what} (A360)`, async () => {
    await using all = await filled()
    await ask(all.store)
    const older = await all.rollBack(7)
    await assertRefused(() => ask(all.store), StoreWentBackError)
    // From then on whatever is asked, and every write.
    await assertRefused(() => all.store.head('run-acme.a'), StoreWentBackError)
    assert.is((await all.store.append(appendOf('run-acme.new', NO_STREAM))).kind, 'unavailable')
    assert.is((await collect(older.readAll())).length, 7, 'nothing was written to it')
    const { state, detail, loss } = all.store.status()
    assert.is(state, 'failed')
    assert.match(detail ?? '', /went backwards/)
    assert.not.match(detail ?? '', /run-acme/, 'who asks whether it is ready learns no name')
    assert.equal(loss, { stream: 'run-acme.b', revision: 4, position: '10', note: '/data/store.db.lost' })
    assert.is(all.statuses.filter(({ loss: lost }) => lost !== undefined).length, 1, 'said once')
    assert.equal(
      all.noted.map(({ stream, revision }) => [stream, revision]),
      [['run-acme.b', 4]],
    )
  })
}

test('a write that an older store took is not acknowledged, and none follows it (A360)', async () => {
  await using all = await filled()
  const older = await all.rollBack(7)
  const result = await all.store.append(appendOf('run-acme.new', NO_STREAM))
  assert.is(result.kind, 'unknown')
  assert.is((await all.store.append(appendOf('run-acme.new', 0))).kind, 'unavailable')
  assert.is((await collect(older.readAll())).length, 8)
})

test('a conflict with less than was acknowledged is answered by no other decision (A360)', async () => {
  await using all = await filled()
  await all.rollBack(7)
  assert.is((await all.store.append(appendOf('run-acme.b', 4))).kind, 'unavailable')
  assert.is(all.store.status().state, 'failed')
})

test('what others wrote and this process read counts as well (A360)', async () => {
  await using all = held()
  for (let revision = NO_STREAM; revision < 4; revision += 1) await all.store.append(appendOf('run-acme.a', revision))
  const appends = [appendOf('run-acme.other', NO_STREAM), appendOf('run-acme.other', 0)]
  const shared = await all.rollBack(5)
  for (const append of appends) await shared.append(append)
  assert.is((await collect(all.store.readAll())).length, 7)
  await all.rollBack(5)
  await assertRefused(() => all.store.end(), StoreWentBackError)
})

test('a store that goes backwards while nobody asks is noticed, and those who follow it are told (A360)', async () => {
  await using all = await filled(5)
  const stop = new AbortController()
  const tail = all.store.subscribe({}, stop.signal)[Symbol.asyncIterator]()
  for (;;) if ((await tail.next()).value === 'caught-up') break
  const next = tail.next()
  await all.rollBack(9)
  await assertRefused(() => within(next), StoreWentBackError)
  assert.is(all.store.status().state, 'failed')
  stop.abort()
})

test('the end of one stream is gone and later events are there: that stream alone is neither read nor written (A361)', async () => {
  await using all = await filled()
  const whole = await collect(all.store.readAll())
  const older = await all.rollBack(10)
  const without = whole.filter(({ stream, revision }) => stream !== 'run-acme.a' || revision < 4)
  Object.assign(older, {
    head: async (stream: string) => (stream === 'run-acme.a' ? 3 : 4),
    recordAt: async (position: string) => without.find((each) => each.position === position),
  })
  await assertRefused(() => all.store.head('run-acme.a'), StreamDeletedError)
  await assertRefused(() => collect(all.store.readStream('run-acme.a')), StreamDeletedError)
  assert.is((await all.store.append(appendOf('run-acme.a', 3))).kind, 'unavailable')
  assert.is(await all.store.head('run-acme.b'), 4)
  assert.is((await all.store.append(appendOf('run-acme.b', 4))).kind, 'appended')
  assert.equal([all.cut, all.store.status().state], [['run-acme.a'], 'ready'])
  assert.equal(all.noted, [])
})

test('an answer that is only late, and a stream that the server was told to forget, stop nobody', async () => {
  await using all = await filled()
  const whole = await all.rollBack(10)
  Object.assign(whole, { end: async () => '8' })
  assert.is(await all.store.end(), '8', 'the event is there: the end was looked for too early')
  await all.rollBack(7)
  all.status = { forgetting: [{ stream: 'run-acme.b', why: 'deleted', loss: 'deleted' }] }
  assert.is(await all.store.head('run-acme.b'), 1)
  assert.is((await all.store.append(appendOf('run-acme.a', 4))).kind, 'appended')
  assert.equal(all.noted, [])
})

test('appends that wait for a doubt to be settled are applied in their order', async () => {
  await using all = await filled()
  let settle: () => void = () => undefined
  const settled = new Promise<void>((resolve) => {
    settle = resolve
  })
  const inner = await all.rollBack(10)
  const recordAt = inner.recordAt.bind(inner)
  Object.assign(inner, {
    end: async () => '8',
    recordAt: async (position: string) => {
      await settled
      return recordAt(position)
    },
  })
  const end = all.store.end()
  await Promise.resolve()
  const written = [4, 5, 6].map((revision) => all.store.append(appendOf('run-acme.b', revision)))
  settle()
  assert.equal(
    (await Promise.all(written)).map(({ kind }) => kind),
    ['appended', 'appended', 'appended'],
  )
  assert.is(await end, '8')
})

test.run()
