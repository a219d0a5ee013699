/** @module The part of the store's contract that follows: catch-up, then live, at the reader's own pace. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type EventStore, NO_STREAM, type ReadRecord } from '../../src/store/event-store.ts'
import { appendOf, collect } from '../support/records.ts'
import type { ContractOptions, OpenStore } from './contract.ts'

export function subscribeContract(
  name: string,
  open: OpenStore,
  { nameStream = (stream) => stream }: ContractOptions,
): void {
  const test = suite(`${name}: subscribe`)

  test('a subscriber catches up, says so once, then lives on with what comes', async () => {
    await using store = await open()
    const stream = nameStream('run-acme.a')
    const after = await store.end()
    await store.append(appendOf(stream, NO_STREAM, 300))
    const stop = new AbortController()
    const revisions: number[] = []
    const marks: number[] = []
    for await (const step of store.subscribe({ after }, stop.signal)) {
      if (step !== 'caught-up') {
        revisions.push(...step.map(({ revision }) => revision))
        continue
      }
      marks.push(revisions.length)
      if (marks.length === 3) stop.abort()
      else await store.append(appendOf(stream, revisions.length - 1, 2))
    }
    assert.equal(
      revisions,
      Array.from({ length: 304 }, (_, revision) => revision),
    )
    assert.equal(marks, [300, 302, 304])
  })

  test('while many write at once a subscriber misses nothing and sees nothing twice', async () => {
    await using store = await open()
    const after = await store.end()
    const stop = new AbortController()
    const wanted = 8 * 50 * 2
    const followers = [0, 1, 2].map(() => take(store, wanted, { after, stop }))
    await Promise.all(
      Array.from({ length: 8 }, async (_, writer) => {
        const stream = nameStream(`run-acme.w${writer}`)
        for (let turn = 0; turn < 50; turn += 1) await store.append(appendOf(stream, 2 * turn - 1, 2))
      }),
    )
    const all = await collect(store.readAll({ after }))
    assert.is(all.length, wanted)
    for (const seen of await Promise.all(followers)) assert.equal(seen, all)
  })

  test('a tenant’s subscriber sees its own events only', async () => {
    await using store = await open()
    const [own, other] = [nameStream('acme'), nameStream('beta')]
    const after = await store.end()
    const stop = new AbortController()
    const followed = take(store, 20, { after, stop, tenant: own })
    for (let revision = 0; revision < 20; revision += 1) {
      await store.append(appendOf(`run-${other}.r1`, revision - 1))
      await store.append(appendOf(`run-${own}.r1`, revision - 1))
    }
    assert.ok((await followed).every(({ stream }) => stream === `run-${own}.r1`))
  })

  test('a subscriber resumes after any position it has seen', async () => {
    await using store = await open()
    const after = await store.end()
    await store.append(appendOf(nameStream('run-acme.a'), NO_STREAM, 10))
    const all = await collect(store.readAll({ after }))
    for (const [index, { position }] of all.entries()) {
      if (index === all.length - 1) continue
      const seen = await take(store, all.length - index - 1, { after: position, stop: new AbortController() })
      assert.equal(seen, all.slice(index + 1))
    }
  })

  test('an abort ends the subscription: asleep, beforehand, and in the middle of a page', async () => {
    await using store = await open()
    const after = await store.end()
    const asleep = new AbortController()
    const steps: unknown[] = []
    const following = (async () => {
      for await (const step of store.subscribe({ after }, asleep.signal)) steps.push(step)
    })()
    while (steps.length === 0) await nextTurn()
    asleep.abort()
    await following
    assert.equal(steps, ['caught-up'])

    for await (const step of store.subscribe({ after }, AbortSignal.abort())) assert.unreachable(String(step))

    await store.append(appendOf(nameStream('run-acme.a'), NO_STREAM, 600))
    const midway = new AbortController()
    let pages = 0
    for await (const _ of store.subscribe({ after }, midway.signal)) {
      pages += 1
      midway.abort()
    }
    assert.is(pages, 1)
  })

  test('the end of the store ends its subscriptions', async () => {
    const store = await open()
    const after = await store.end()
    let asleep = false
    const following = (async () => {
      for await (const step of store.subscribe({ after }, new AbortController().signal)) asleep = step === 'caught-up'
    })()
    while (!asleep) await nextTurn()
    await store[Symbol.asyncDispose]()
    await following
  })

  test('a reader that sleeps is buffered for by nobody: it reads on where it stopped', async () => {
    await using store = await open()
    const after = await store.end()
    const stop = new AbortController()
    const reader = store.subscribe({ after }, stop.signal)[Symbol.asyncIterator]()
    assert.equal((await reader.next()).value, 'caught-up')

    const stream = nameStream('run-acme.a')
    const heapBefore = heapUsedBytes()
    for (let turn = 0; turn < 8; turn += 1) {
      const body = { stream, expectedRevision: 1_000 * turn - 1, records: appendOf(stream, 0, 1_000).records }
      await store.append(body)
    }
    const next = await reader.next()
    assert.ok(next.value !== 'caught-up' && (next.value?.length ?? 0) <= 1_000, 'one page at a time')
    // The memory store itself keeps what is appended; a buffer beside it would double this.
    assert.ok(heapUsedBytes() - heapBefore < 24 * 1024 * 1024)
    stop.abort()
    await reader.return?.()
  })

  test.run()
}

interface TakeOptions {
  readonly after: string | undefined
  readonly stop: AbortController
  readonly tenant?: string
}

/** The first `count` records of a subscription, which is then aborted. */
async function take(store: EventStore, count: number, options: TakeOptions): Promise<readonly ReadRecord[]> {
  const { after, tenant } = options
  const own = new AbortController()
  options.stop.signal.addEventListener('abort', () => own.abort())
  const seen: ReadRecord[] = []
  for await (const step of store.subscribe({ after, tenant }, own.signal)) {
    if (step === 'caught-up') continue
    seen.push(...step)
    if (seen.length >= count) own.abort()
  }
  return seen
}

// Without it, what is measured is garbage above all.
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function heapUsedBytes(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}
