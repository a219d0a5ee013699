import { setImmediate as nextTurn } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runStream } from '../../../schemas/names.ts'
import { logCaches } from '../../../src/ledger/log/log-caches.ts'
import { StreamHeads } from '../../../src/ledger/log/stream-heads.ts'
import type { LogAnswer } from '../../../src/ledger/log/tenant-logs.ts'
import { parseCheckpoint } from '../../../src/merkle/checkpoint.ts'
import { CompactTree } from '../../../src/merkle/compact-tree.ts'
import { verifyConsistency } from '../../../src/merkle/consistency.ts'
import { parseEntryBundle } from '../../../src/merkle/entry-bundle.ts'
import { leafHash } from '../../../src/merkle/hashes.ts'
import { verifyInclusion } from '../../../src/merkle/inclusion.ts'
import { provesHead, streamsLine } from '../../../src/merkle/stream-tree.ts'
import { StreamTreeBuilder } from '../../../src/merkle/stream-tree-builder.ts'
import { parseTlogProof } from '../../../src/merkle/tlog-proof.ts'
import { MemoryBudget } from '../../../src/resources/memory-budget.ts'
import { openMemoryStore } from '../../../src/store/memory/memory-store.ts'
import { openSqliteLogs } from '../../../src/store/sqlite/sqlite-log.ts'
import { appendOf, collect } from '../../support/records.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { openedCheckpoint, type TestLogs, testLogs } from '../../support/test-logs.ts'

const test = suite('ledger: tenant logs')

const answerOf = <T>(answer: LogAnswer<T>): T => {
  if (!answer.ok) throw new Error(`refused: ${answer.code}`)
  return answer.value
}
const given = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error('nothing there')
  return value
}
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

function checkpointOf({ logs }: TestLogs, tenant: string) {
  return given(parseCheckpoint(openedCheckpoint(answerOf(logs.checkpoint(tenant)), logs.verifierKey(tenant))))
}

/** Header texts of a tenant, in store order. */
async function headersOf({ store }: TestLogs, tenant: string): Promise<readonly string[]> {
  return (await collect(store.readAll({ tenant }))).map(({ header }) => header)
}

function rootOf(headers: readonly string[]): string {
  const tree = new CompactTree()
  for (const header of headers) tree.append(leafHash(header))
  return hex(tree.root())
}

/** The line of the last checkpoint is the root over all streams that it covers, and each of them has a path to it. */
async function holdsStreams(at: TestLogs, tenant: string): Promise<void> {
  const { size, extensions } = checkpointOf(at, tenant)
  const builder = new StreamTreeBuilder()
  const counts = new Map<string, number>()
  for (const header of (await headersOf(at, tenant)).slice(0, size)) {
    const { stream } = JSON.parse(header) as { stream: string }
    builder.take(stream, leafHash(header))
    counts.set(stream, (counts.get(stream) ?? 0) + 1)
  }
  assert.equal(extensions, [streamsLine(builder.root())])
  const published = given(at.logs.published(tenant))
  for (const [stream, events] of counts) {
    const shown = given(await at.logs.streamPath(tenant, stream, published))
    assert.is(shown.head.events, events)
    assert.ok(provesHead({ ...shown, root: builder.root() }))
  }
  assert.is(await at.logs.streamPath(tenant, `run-${tenant}.unknown`, published), undefined)
  assert.is(await at.logs.streamPath(tenant, [...counts.keys()][0] ?? '', { ...published, size: size - 1 }), undefined)
}

for (const kind of ['memory', 'sqlite'] as const) {
  const opened = async (): Promise<TestLogs & { readonly folder: Disposable }> => {
    const folder = tempFolder()
    const logs = await testLogs(kind === 'sqlite' ? { folder: folder.path } : {})
    return {
      ...logs,
      folder,
      [Symbol.asyncDispose]: async () => {
        await logs[Symbol.asyncDispose]()
        folder[Symbol.dispose]()
      },
    }
  }

  test(`${kind}: a checkpoint is the root over the header texts of one tenant in store order (LOG-1)`, async () => {
    await using at = await opened()
    await Promise.all([at.fill(at.tenant, 'one', 40), at.fill(at.other, 'one', 20), at.fill(at.tenant, 'two', 30)])
    await at.logs.publish()
    for (const tenant of [at.tenant, at.other]) {
      const { origin, size, root } = checkpointOf(at, tenant)
      const headers = await headersOf(at, tenant)
      assert.is(origin, `ledger.example/${tenant}`)
      assert.is(headers.length, size + 1, 'all but the checkpoint itself')
      assert.is(hex(root), rootOf(headers.slice(0, size)))
    }
  })

  test(`${kind}: each checkpoint names the tree of its streams, and shows of each how many events it has (LOG-27)`, async () => {
    await using at = await opened()
    for (const [turn, count] of [3, 0, 60, 5].entries()) {
      await Promise.all([
        at.fill(at.tenant, `run-${turn}`, count),
        at.fill(at.other, 'one', 1),
        at.fill(at.tenant, 'again', 2),
      ])
      await at.logs.publish()
      for (const tenant of [at.tenant, at.other]) await holdsStreams(at, tenant)
    }
  })

  test(`${kind}: a file of the logs that was made anew names the same streams at its next checkpoint (LOG-27)`, async () => {
    await using at = await opened()
    await at.fill(at.tenant, 'one', 40)
    await at.logs.publish()
    at.logStore.renew('a test')
    await at.fill(at.tenant, 'two', 3)
    await at.logs.publish()
    await holdsStreams(at, at.tenant)
  })

  test(`${kind}: every event is proven by a file that an auditor checks with the verifier key alone (LOG-9)`, async () => {
    await using at = await opened()
    await at.fill(at.tenant, 'one', 150)
    await at.logs.publish()
    for (const header of (await headersOf(at, at.tenant)).slice(0, -1)) {
      const { id } = JSON.parse(header) as { id: string }
      const proof = given(parseTlogProof(answerOf(at.logs.proofFile(at.tenant, id))))
      const { size, root } = given(parseCheckpoint(openedCheckpoint(proof.checkpoint, at.logs.verifierKey(at.tenant))))
      assert.ok(verifyInclusion({ index: proof.index, size, leaf: leafHash(header), proof: proof.hashes, root }))
    }
  })

  test(`${kind}: each checkpoint continues the one before, and proofs between them verify`, async () => {
    await using at = await opened()
    const seen: { size: number; root: Uint8Array }[] = []
    for (const [turn, count] of [1, 120, 0, 7, 300].entries()) {
      await at.fill(at.tenant, `run-${turn}`, count)
      await at.logs.publish()
      seen.push(checkpointOf(at, at.tenant))
    }
    for (const [i, from] of seen.entries()) {
      for (const to of seen.slice(i)) {
        const { proof, fromRoot, toRoot } = answerOf(at.logs.consistency(at.tenant, from.size, to.size))
        assert.equal([hex(fromRoot), hex(toRoot)], [hex(from.root), hex(to.root)])
        assert.ok(verifyConsistency({ from: from.size, fromRoot: from.root, to: to.size, toRoot: to.root, proof }))
      }
    }
  })

  test(`${kind}: tiles and bundles hold the published tree, and nothing beyond it (LOG-4)`, async () => {
    await using at = await opened()
    await at.fill(at.tenant, 'one', 300)
    await at.logs.publish()
    const { size } = checkpointOf(at, at.tenant)
    await at.fill(at.tenant, 'two', 10)
    const headers = await headersOf(at, at.tenant)
    const full = given(at.logs.tile(at.tenant, { level: 0, index: 1, width: 256 }))
    assert.is(
      hex(full),
      headers
        .slice(256, 512)
        .map((header) => hex(leafHash(header)))
        .join(''),
    )
    const top = new CompactTree()
    for (const header of headers.slice(256, 512)) top.append(leafHash(header))
    assert.is(hex(given(at.logs.tile(at.tenant, { level: 1, index: 0, width: 2 })).subarray(32)), hex(top.root()))

    const rest = size % 256
    const bundle = given(await at.logs.entries(at.tenant, { level: 'entries', index: 2, width: rest }))
    assert.equal(given(parseEntryBundle(bundle)).map(String), headers.slice(512, size))
    assert.is(at.logs.tile(at.tenant, { level: 0, index: 2, width: rest + 1 }), undefined)
    assert.is(await at.logs.entries(at.tenant, { level: 'entries', index: 2, width: rest + 1 }), undefined)
    assert.is(at.logs.tile(at.tenant, { level: 0, index: 2, width: 256 }), undefined)
    assert.is(at.logs.tile(at.tenant, { level: 1, index: 0, width: 3 }), undefined)
    assert.is(at.logs.tile(at.tenant, { level: 7, index: 0, width: 1 }), undefined)
  })

  test(`${kind}: a checkpoint alone makes no new one due (LOG-6)`, async () => {
    await using at = await opened()
    await at.fill(at.tenant, 'one', 1)
    await at.logs.publish()
    const before = (await headersOf(at, at.tenant)).length
    for (let turn = 0; turn < 3; turn += 1) await at.logs.publish()
    assert.is((await headersOf(at, at.tenant)).length, before)
    assert.equal(at.logs.state(at.tenant), { size: 4, published: 3, witnesses: [] })
  })

  test(`${kind}: the ledger's own facts have a log too`, async () => {
    await using at = await opened()
    await at.logs.publish()
    const { origin, size } = checkpointOf(at, 'system')
    assert.equal([origin, size], ['ledger.example/system', 1])
  })

  test(`${kind}: the log made anew from the store is the same log`, async () => {
    await using at = await opened()
    await at.fill(at.tenant, 'one', 140)
    await at.logs.publish()
    await at.fill(at.other, 'one', 3)
    await at.logs.publish()
    using fresh = openSqliteLogs({ path: ':memory:' })
    await using again = await testLogs({ store: at.store, logStore: fresh, keys: at.keys })
    await again.logs.publish()
    for (const tenant of [at.tenant, at.other, 'system']) {
      assert.equal(again.logs.checkpoint(tenant), at.logs.checkpoint(tenant))
      assert.equal(again.logs.state(tenant), at.logs.state(tenant))
    }
  })
}

test('of more streams than are saved at once each is counted, before and after the file was rebuilt (LOG-27)', async () => {
  await using at = await testLogs()
  await Promise.all(Array.from({ length: 300 }, (_, n) => at.fill(at.tenant, `r${n}`, n % 3 === 0 ? 1 : 0)))
  await at.logs.publish()
  await holdsStreams(at, at.tenant)
  at.logStore.renew('a test')
  await at.fill(at.tenant, 'last', 1)
  await at.logs.publish()
  await holdsStreams(at, at.tenant)
})

test('a file of the logs that is rebuilt while its checkpoint is signed is not signed by what is left of it; the next turn signs (LOG-7, LOG-27)', async () => {
  using file = openSqliteLogs({ path: ':memory:' })
  let isToRenew = false
  const logStore = new Proxy(file, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (name !== 'heads' || !isToRenew) return value
      isToRenew = false
      queueMicrotask(() => target.renew('a test'))
      return value
    },
  })
  await using at = await testLogs({ logStore })
  await at.fill(at.tenant, 'one', 2)
  isToRenew = true
  await at.logs.publish()
  assert.not.ok(isToRenew, 'it was made anew')
  await at.logs.publish()
  await holdsStreams(at, at.tenant)
  const signed = (await headersOf(at, at.tenant)).filter((header) => header.includes('CheckpointSigned'))
  assert.is(signed.length, 1)
})

test('a tree of streams that goes on while it is hashed for somebody is hashed as it is then (LOG-27)', async () => {
  await using at = await testLogs()
  await Promise.all(Array.from({ length: 300 }, (_, n) => at.fill(at.tenant, `r${n}`, 0)))
  await at.logs.publish()
  const { size } = checkpointOf(at, at.tenant)
  const builder = new StreamTreeBuilder()
  const headers = (await headersOf(at, at.tenant)).slice(0, size)
  const streams = headers.map((header) => (JSON.parse(header) as { stream: string }).stream)
  for (const [index, header] of headers.entries()) builder.take(streams[index] ?? '', leafHash(header))
  for (let turns = 0; turns < 8; turns += 1) {
    const heads = new StreamHeads({ logStore: at.logStore, cache: logCaches(new MemoryBudget(2 ** 30)).heads })
    const asked = heads.root(at.tenant, heads.size(at.tenant))
    for (let turn = 0; turn < turns; turn += 1) await nextTurn()
    const growing = heads.grow(at.tenant)
    for (const stream of streams) {
      const leaf = leafHash(`${stream} ${turns}`)
      builder.take(stream, leaf)
      assert.ok(growing.add(stream, leaf))
    }
    assert.ok(growing.save())
    await asked
    assert.equal(await heads.root(at.tenant, heads.size(at.tenant)), builder.root())
    if (turns === 7) assert.is(await heads.root(at.tenant, size), undefined, 'of a smaller tree nothing is said')
  }
})

test('a log that hardly grew reads its own new leaves before it is signed, not what others wrote since its last one (F257)', async () => {
  await using store = openMemoryStore()
  let read = 0
  const counting = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (name !== 'readAll') return typeof value === 'function' ? value.bind(target) : value
      return async function* (options: Parameters<typeof store.readAll>[0]) {
        for await (const page of target.readAll(options)) {
          read += page.length
          yield page
        }
      }
    },
  })
  await using at = await testLogs({ store: counting })
  await at.fill(at.tenant, 'first', 1)
  await at.logs.publish()
  await at.fill(at.other, 'many', 100)
  await at.logs.publish()
  await at.fill(at.tenant, 'second', 1)
  read = 0
  await at.logs.publish()
  // The events of the second run once, by the log that follows the store, and the checkpoint that was signed over them.
  assert.ok(read <= 8, `${read} events were read`)
  await holdsStreams(at, at.tenant)
  await holdsStreams(at, at.other)
})

test('two processes on one store sign the same root, and the one that comes second drops its own', async () => {
  await using store = openMemoryStore()
  await using one = await testLogs({ store })
  await using two = await testLogs({ store, keys: one.keys })
  await one.fill(one.tenant, 'r', 5)
  await Promise.all([one.logs.publish(), two.logs.publish()])
  await Promise.all([one.logs.publish(), two.logs.publish()])
  const signed = (await collect(store.readAll({ tenant: one.tenant }))).filter(({ header }) =>
    header.includes('CheckpointSigned'),
  )
  assert.is(signed.length, 1)
  assert.equal(one.logs.checkpoint(one.tenant), two.logs.checkpoint(one.tenant))
})

test('what no checkpoint covers yet has no proof, and a tenant has none of another (A11)', async () => {
  await using at = await testLogs()
  await at.fill(at.tenant, 'one', 2)
  assert.equal(at.logs.checkpoint(at.tenant), { ok: false, code: 'no-checkpoint', size: 0 })
  await at.logs.publish()
  const [header = ''] = await headersOf(at, at.tenant)
  const { id: eventId } = JSON.parse(header) as { id: string }
  assert.equal(at.logs.inclusion(at.other, { eventId }), { ok: false, code: 'no-checkpoint', size: 0 })
  await at.fill(at.other, 'one', 1)
  await at.logs.publish()
  assert.equal(at.logs.inclusion(at.other, { eventId }), { ok: false, code: 'not-in-log', size: 3 })
  const codes = [
    at.logs.inclusion(at.tenant, { index: 5 }),
    at.logs.inclusion(at.tenant, { index: 0 }, 6),
    at.logs.inclusion(at.tenant, { index: 3 }, 3),
    at.logs.consistency(at.tenant, 1, 6),
    at.logs.consistency(at.tenant, 3, 2),
  ].map((answer) => (answer.ok ? 'ok' : answer.code))
  assert.equal(codes, ['not-published', 'beyond-checkpoint', 'not-a-range', 'beyond-checkpoint', 'not-a-range'])
})

test('a stream that this ledger did not write is reported and in no log; the others go on (LOG-2)', async () => {
  await using at = await testLogs()
  await at.fill(at.tenant, 'one', 1)
  const planted = [runStream(at.tenant, 'planted'), `run-${at.tenant}-elsewhere`]
  for (const stream of planted) await at.store.append(appendOf(stream, -1, 2))
  await at.fill(at.tenant, 'two', 1)
  await at.fill(at.other, 'one', 1)
  await at.logs.publish()
  assert.is(checkpointOf(at, at.other).size, 3)
  if (at.store.densePositions === true) {
    // Nobody else writes there: an event that is not ours was one of ours.
    assert.is(at.logs.state(at.tenant).stopped, 'header-schema')
    return
  }
  assert.is(checkpointOf(at, at.tenant).size, 6)
  const reported = at.lines.filter(({ message }) => message.includes('did not write'))
  const streams = reported.map(({ fields }) => (fields as { stream?: string }).stream ?? '')
  assert.equal(
    planted.map((stream) => streams.filter((each) => each === stream).length),
    [1, 1],
  )
})

test('a record that does not verify stops the log of its tenant there; nothing behind it is signed (LOG-3)', async () => {
  await using at = await testLogs()
  await at.fill(at.tenant, 'one', 1)
  await at.logs.publish()
  const head = await at.store.head(runStream(at.tenant, 'one'))
  await at.store.append(appendOf(runStream(at.tenant, 'one'), head))
  await at.fill(at.tenant, 'two', 1)
  await at.fill(at.other, 'one', 1)
  await at.logs.publish()
  assert.equal(at.logs.state(at.tenant), { size: 4, published: 3, witnesses: [], stopped: 'header-schema' })
  assert.is(checkpointOf(at, at.tenant).size, 3)
  assert.is(checkpointOf(at, at.other).size, 3)
})

test.run()
