/** @module The one suite that every backend of the event store passes. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Append, type AppendResult, type EventStore, NO_STREAM } from '../../src/store/event-store.ts'
import { appendOf, collect, headerId, idsOf, record, records } from '../support/records.ts'
import { readContract } from './read-contract.ts'
import { subscribeContract } from './subscribe-contract.ts'

export interface ContractOptions {
  /** Backends without a request column leave duplicates to the ledger's own index. Default true. */
  readonly refusesDuplicateRequests?: boolean
  /** Appends racing for one revision. Default 1,000. */
  readonly racers?: number
  /** Names differ per test, so that a shared server can be used again. Default: the bare name. */
  readonly nameStream?: (name: string) => string
}

export type OpenStore = () => Promise<EventStore>

export function storeContract(name: string, open: OpenStore, options: ContractOptions = {}): void {
  appendContract(name, open, options)
  groupContract(name, open, options)
  readContract(name, open, options)
  subscribeContract(name, open, options)
}

function appendContract(name: string, open: OpenStore, options: ContractOptions): void {
  const test = suite(`${name}: append`)
  const { refusesDuplicateRequests = true, racers = 1_000, nameStream = (stream) => stream } = options

  test('a new stream starts at revision 0 and its head is its last revision', async () => {
    await using store = await open()
    const stream = nameStream('run-acme.r1')
    assert.is(await store.head(stream), NO_STREAM)
    const first = await store.append(appendOf(stream, NO_STREAM))
    assert.is(first.kind === 'appended' && first.revision, 0)
    const second = await store.append(appendOf(stream, 0, 3))
    assert.is(second.kind === 'appended' && second.revision, 3)
    assert.is(await store.head(stream), 3)
  })

  test('a stale, a future and a wrong "no stream" revision are refused and the actual one is reported (STR-17)', async () => {
    await using store = await open()
    const stream = nameStream('run-acme.r1')
    assert.equal(await store.append(appendOf(stream, 0)), { kind: 'conflict', actual: NO_STREAM })
    await store.append(appendOf(stream, NO_STREAM, 2))
    for (const expected of [NO_STREAM, 0, 2, 7]) {
      assert.equal(await store.append(appendOf(stream, expected)), { kind: 'conflict', actual: 1 })
    }
    assert.is((await collect(store.readStream(stream))).length, 2)
  })

  test('of many appends that expect the same revision exactly one is written', async () => {
    await using store = await open()
    const stream = nameStream('run-acme.r1')
    const results = await Promise.all(Array.from({ length: racers }, () => store.append(appendOf(stream, NO_STREAM))))
    assert.is(results.filter(({ kind }) => kind === 'appended').length, 1)
    const losers = results.filter(({ kind }) => kind !== 'appended')
    assert.ok(losers.every((result) => result.kind === 'conflict' && result.actual === 0))
    assert.is(await store.head(stream), 0)
  })

  test('what is read back is byte for byte what was appended', async () => {
    await using store = await open()
    const stream = nameStream('run-acme.r1')
    const written = [
      record({ data: '{"text":"Zürich \u{1F9FE} \\u0000 \u2028 e\u0301 é"}' }),
      record({ data: '""' }),
      { ...record(), salt: new Uint8Array(0) },
      { ...record(), salt: Uint8Array.from({ length: 256 }, (_, index) => index) },
    ]
    await store.append({ stream, expectedRevision: NO_STREAM, records: written })
    const read = await collect(store.readStream(stream))
    for (const [index, { header, salt, data }] of written.entries()) {
      assert.is(read[index]?.header, header)
      assert.is(read[index]?.data, data)
      assert.equal(read[index]?.salt, salt)
    }
  })

  test('an append up to the byte limit is written whole, one over it is refused by the caller’s error', async () => {
    await using store = await open()
    const stream = nameStream('run-acme.r1')
    const { header, salt } = record()
    const room = store.maxAppendBytes - header.length - salt.length
    const largest = record({ bytes: room })
    const result = await store.append({ stream, expectedRevision: NO_STREAM, records: [largest] })
    assert.is(result.kind, 'appended')
    assert.is((await collect(store.readStream(stream)))[0]?.data, largest.data)

    const tooLarge: Append = { stream, expectedRevision: 0, records: [record({ bytes: room + 1 })] }
    assert.instance(await failure(store.append(tooLarge)), RangeError)
    assert.instance(await failure(store.append({ stream, expectedRevision: 0, records: [] })), RangeError)
    assert.instance(await failure(store.append(appendOf(stream, -2))), RangeError)
    assert.is(await store.head(stream), 0)
  })

  if (refusesDuplicateRequests) {
    test('a request id is taken once in a stream, for ever, and the refusal tells where', async () => {
      await using store = await open()
      const [stream, other] = [nameStream('run-acme.r1'), nameStream('run-acme.r2')]
      const asked = (): Append['records'] => [record({ requestId: 'request-1' }), record()]
      await store.append(appendOf(stream, NO_STREAM))
      await store.append({ stream, expectedRevision: 0, records: asked() })
      await store.append(appendOf(stream, 2, 300))
      const repeat = await store.append({ stream, expectedRevision: 302, records: [record(), ...asked()] })
      assert.equal(repeat, { kind: 'duplicate-request', requestId: 'request-1', revision: 1 })
      assert.is(await store.head(stream), 302)

      const elsewhere = await store.append({ stream: other, expectedRevision: NO_STREAM, records: asked() })
      assert.is(elsewhere.kind, 'appended', 'the id binds its stream only')
      const twice = [record({ requestId: 'request-2' }), record({ requestId: 'request-2' })]
      const error = await failure(store.append({ stream, expectedRevision: 302, records: twice }))
      assert.instance(error, RangeError)
    })
  }

  test('a recorded request is found at its revision, an unknown one is not', async () => {
    await using store = await open()
    const stream = nameStream('run-acme.r1')
    assert.is(await store.findRequest(stream, 'request-1'), undefined)
    await store.append({ stream, expectedRevision: NO_STREAM, records: [record(), record({ requestId: 'request-1' })] })
    assert.is(await store.findRequest(stream, 'request-1'), 1)
    assert.is(await store.findRequest(stream, 'request-2'), undefined)
    assert.is(await store.findRequest(nameStream('run-acme.r2'), 'request-1'), undefined)
  })

  test('of streams that had a first event, those that have none any more are found with one question, where a server may take events away (F241)', async () => {
    await using store = await open()
    if (store.lostBeginnings === undefined) return
    const streams = Array.from({ length: 40 }, (_, index) => nameStream(`run-acme.b${index}`))
    const [gone, ...there] = streams
    for (const stream of there) await store.append(appendOf(stream, NO_STREAM))
    assert.equal(await store.lostBeginnings(streams), [gone])
    assert.equal(await store.lostBeginnings([]), [])
  })

  test('the events of a tenant between two positions are counted as a reading of the tenant has them, where a store counts (LOG-106, A647)', async () => {
    await using store = await open()
    if (store.countEvents === undefined) return
    const names = ['run-acme.c1', 'ledger-acme', 'access-acme.w', 'run-beta.c1', 'run-acme.c2']
    for (const name of names) await store.append(appendOf(nameStream(name), NO_STREAM, 2))
    const positions: string[] = []
    for await (const page of store.readAll({ tenant: 'acme' })) positions.push(...page.map(({ position }) => position))
    const [first, until] = [positions[0], positions.at(-1) ?? '']
    const counted = async (range: { after?: string | undefined; until: string }) => store.countEvents?.('acme', range)
    assert.is(await counted({ until }), positions.length)
    assert.is(await counted({ after: first, until }), positions.length - 1)
    assert.is(await counted({ after: until, until }), 0)
  })

  test('a closed store refuses appends as unavailable', async () => {
    const store = await open()
    await store[Symbol.asyncDispose]()
    const result = await store.append(appendOf(nameStream('run-acme.r1'), NO_STREAM))
    assert.is(result.kind, 'unavailable')
  })

  test.run()
}

function groupContract(name: string, open: OpenStore, { nameStream = (stream) => stream }: ContractOptions): void {
  const test = suite(`${name}: appends side by side`)

  test('appends handed over in order build on one another without waiting', async () => {
    await using store = await open()
    const stream = nameStream('run-acme.r1')
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, index) => store.append(appendOf(stream, 2 * index - 1, 2))),
    )
    assert.ok(results.every((result, index) => result.kind === 'appended' && result.revision === 2 * index + 1))
    const positions = results.map((result) => (result.kind === 'appended' ? result.position : ''))
    assert.equal([...positions].sort(store.comparePositions), positions)
  })

  test('after a failed append those that build on it conflict, and other streams never notice', async () => {
    await using store = await open()
    const [broken, sound] = [nameStream('run-acme.broken'), nameStream('run-acme.sound')]
    const results = await Promise.all([
      store.append(appendOf(broken, NO_STREAM)),
      store.append(appendOf(sound, NO_STREAM)),
      store.append(appendOf(broken, 5)),
      store.append(appendOf(sound, 0)),
      store.append(appendOf(broken, 6)),
      store.append(appendOf(sound, 1)),
      store.append(appendOf(broken, 0)),
    ])
    assert.equal(
      results.map(({ kind }) => kind),
      ['appended', 'appended', 'conflict', 'appended', 'conflict', 'appended', 'appended'],
    )
    assert.equal(results[4], { kind: 'conflict', actual: 0 })
  })

  test('one poison append in 64 fails alone and leaves nothing behind (F17)', async () => {
    await using store = await open()
    const appends = Array.from({ length: 64 }, (_, index) => appendOf(nameStream(`run-acme.r${index}`), NO_STREAM, 2))
    const poison = { ...appendOf(nameStream('run-acme.r33'), 9, 2) }
    appends[33] = poison
    const results = await Promise.all(appends.map((append) => store.append(append)))
    assert.equal(kinds(results), { appended: 63, conflict: 1 })
    assert.equal(results[33], { kind: 'conflict', actual: NO_STREAM })
    const expected = appends.flatMap((append) => (append === poison ? [] : append.records.map(({ id }) => id)))
    const found = await Promise.all(
      appends.map(async ({ stream }) => (await collect(store.readStream(stream))).map(headerId)),
    )
    assert.equal(found.flat(), expected)
  })

  test('records of one append stand together in the global order', async () => {
    await using store = await open()
    const appends = Array.from({ length: 40 }, (_, index) => appendOf(nameStream(`run-acme.r${index}`), NO_STREAM, 5))
    await Promise.all(appends.map((append) => store.append(append)))
    const all = await idsOf(store)
    for (const { records: written } of appends) {
      const at = all.indexOf(written[0]?.id ?? '')
      assert.equal(
        all.slice(at, at + 5),
        written.map(({ id }) => id),
      )
    }
  })

  test('an append is seen by head, by its stream and by the end of all as soon as it is answered', async () => {
    await using store = await open()
    const stream = nameStream('run-acme.r1')
    for (let revision = 0; revision < 20; revision += 1) {
      const result = await store.append({ stream, expectedRevision: revision - 1, records: records(1) })
      assert.is(await store.head(stream), revision)
      assert.is((await collect(store.readStream(stream, { from: revision }))).length, 1)
      assert.is(result.kind === 'appended' && result.position, await store.end())
    }
  })

  test.run()
}

function kinds(results: readonly AppendResult[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { kind } of results) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

export async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  )
}
