import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RUN_PROJECTION_VERSION } from '../../projections/run-state.ts'
import { runStream } from '../../schemas/names.ts'
import type { Command } from '../../src/ledger/ledger.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { openSqliteViews } from '../../src/store/sqlite/sqlite-views.ts'
import type { FoldRow } from '../../src/store/view-store.ts'
import { drive, ok, recordsOf, refusedWith, replayed, verifiedFold } from '../support/run-driver.ts'
import { alice, type TestLedger, testLedger } from '../support/test-ledger.ts'
import { wrapStore } from '../support/wrap-store.ts'

const cache = suite('cached runs and cached folds')

const streamOfR = (): string => runStream(alice.tenant, 'r')
const usage: Command = { kind: 'usage', body: { agent: 'a', usage: { tokens: 1 } } }
const use = (count: number) => Array.from({ length: count }, () => ({ runId: 'r', command: usage }))

async function longRun(test: TestLedger, events: number): Promise<void> {
  await drive(test, 'r').start()
  ok(await drive(test, 'r').hand('a', { entities: ['Apple'], n: 3 }))
  for (let left = events; left > 0; left -= 500) await test.ledger.executeBatch(alice, use(Math.min(left, 500)), {})
  await test.ledger.drain()
  await new Promise((resolve) => setImmediate(resolve))
}

const foldRow = (test: TestLedger): FoldRow | undefined =>
  test.views.loadFold(streamOfR(), `run/${RUN_PROJECTION_VERSION}`)

/** Opens the same store with views that hold this row. */
async function reopened(test: TestLedger, row: FoldRow, store = test.store): Promise<TestLedger> {
  const views = openSqliteViews({ path: ':memory:' })
  views.saveFold(row)
  return testLedger({ store, keys: test.keys.current(), views })
}

cache('many more runs than the cache holds, all at once: each is right (STR-6)', async () => {
  await using test = await testLedger({ cachedRunsMax: 2 })
  const runs = Array.from({ length: 20 }, (_, i) => drive(test, `r${i}`))
  await Promise.all(runs.map((run) => run.start()))
  for (let round = 0; round < 5; round += 1) {
    await Promise.all(
      runs
        .flatMap((run, i) => [run.hand('a', { i, round }), run.called('t', { key: `${round}` }), run.do(usage)])
        .map(async (each) => each),
    )
  }
  assert.ok(test.ledger.stats().cachedRuns <= 2)
  for (const [i, run] of runs.entries()) {
    const state = await verifiedFold(test, run.runId)
    assert.equal([state.step, state.spend.tokens, state.forwardOrder.length], [5, 5, 5])
    assert.equal((await run.state()).step, 5, `r${i}`)
  }
})

cache(
  'a long run is loaded from its cached fold and the tail behind it, and is the same as folded from the start',
  async () => {
    await using test = await testLedger()
    await longRun(test, 1_200)
    const row = foldRow(test)
    assert.ok(row !== undefined && row.revision > 900)
    ok(await drive(test, 'r').do(usage))
    await using again = await reopened(test, row as FoldRow)
    const run = drive(again, 'r')
    assert.equal(await run.state(), await drive(test, 'r').state())
    ok(await run.hand('b', { entities: ['apple'], n: 3 }))
    assert.is((await replayed(again.ledger, 'r')).verdict, 'VERIFIED')
  },
)

cache('while other runs have appends under way a fold is kept later, and soon after they are durable', async () => {
  const store = openMemoryStore()
  let letGo = (): void => undefined
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const slow = wrapStore(store, {
    append: async (append) => {
      if (append.stream === runStream(alice.tenant, 'slow') && append.expectedRevision === 0) await held
      return store.append(append)
    },
  })
  await using test = await testLedger({ store: slow })
  const other = drive(test, 'slow')
  await other.start()
  const appending = other.do(usage)
  await drive(test, 'r').start()
  for (let i = 0; i < 3; i += 1) await test.ledger.executeBatch(alice, use(400), {})
  assert.is(foldRow(test), undefined)
  for (let i = 0; i < 8; i += 1) await test.ledger.executeBatch(alice, use(400), {})
  const first = foldRow(test)?.revision ?? 0
  assert.ok(first >= 4_000 && first < 4_800, `kept at the latest after 4,000 events: ${first}`)

  letGo()
  await appending
  for (let i = 0; i < 3; i += 1) await test.ledger.executeBatch(alice, use(400), {})
  await test.ledger.drain()
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok((foldRow(test)?.revision ?? 0) >= first + 1_000)
})

for (const [name, damage] of [
  ['changed', (row: FoldRow) => ({ ...row, text: row.text.replace('"tokens":', '"tokens":1') })],
  ['no JSON', (row: FoldRow) => ({ ...row, text: 'nonsense' })],
  ['of another revision', (row: FoldRow) => ({ ...row, revision: row.revision + 1 })],
  ['under the mac of another run', (row: FoldRow) => ({ ...row, mac: row.mac.replace(/.$/, 'A') })],
  ['under a key that nobody has', (row: FoldRow) => ({ ...row, mac: `x${row.mac}` })],
] as const) {
  cache(`a cached fold that is ${name} decides nothing: the run is folded anew (STR-11)`, async () => {
    await using test = await testLedger()
    await longRun(test, 1_100)
    const row = foldRow(test)
    if (row === undefined) throw new Error('no fold was cached')
    await using again = await reopened(test, damage(row))
    assert.equal(await drive(again, 'r').state(), await drive(test, 'r').state())
    ok(await drive(again, 'r').do(usage))
  })
}

cache('a fold cached before the store was restored from an older copy decides nothing', async () => {
  await using test = await testLedger()
  await longRun(test, 1_100)
  const row = foldRow(test)
  const restored = openMemoryStore()
  const facts: Promise<unknown>[] = []
  for await (const page of test.store.readStream('ledger-system'))
    facts.push(
      restored.append({
        stream: 'ledger-system',
        expectedRevision: -1,
        records: page.map((each) => ({ ...each, id: each.position, type: 't' })),
      }),
    )
  const older = (await recordsOf(test.store, 'r')).slice(0, 500)
  await restored.append({
    stream: streamOfR(),
    expectedRevision: -1,
    records: older.map((each) => ({
      header: each.header,
      salt: each.salt,
      data: each.data,
      id: each.position,
      type: 't',
    })),
  })
  await Promise.all(facts)
  await using again = await reopened(test, row as FoldRow, restored)
  assert.is((await drive(again, 'r').state()).revision, 499)
  ok(await drive(again, 'r').do(usage))
  assert.is((await verifiedFold(again, 'r')).revision, 500)
})

cache('views that fail cost time and nothing else', async () => {
  const views = openSqliteViews({ path: ':memory:' })
  const broken = Object.assign(Object.create(views) as typeof views, {
    loadFold: () => {
      throw new Error('disk')
    },
    saveFold: () => {
      throw new Error('disk')
    },
    [Symbol.dispose]: () => views[Symbol.dispose](),
  })
  await using test = await testLedger({ views: broken, cachedRunsMax: 1 })
  await longRun(test, 2_100)
  await drive(test, 's').start()
  ok(await drive(test, 'r').do(usage))
})

cache('a record that does not verify stops the run: nothing is decided, answered or appended', async () => {
  const store = openMemoryStore()
  let forged = false
  const readStream: typeof store.readStream = async function* (...args) {
    for await (const page of store.readStream(...args)) {
      yield page.map((record) =>
        forged && record.stream === streamOfR() && record.revision === 1
          ? { ...record, data: record.data.replace('1', '2') }
          : record,
      )
    }
  }
  const tampered = wrapStore(store, {
    readStream,
  })
  await using test = await testLedger({ store: tampered })
  const run = drive(test, 'r')
  await run.start()
  const callId = await run.called('t')
  forged = true
  const found = await test.ledger.call(alice, 'r', callId)
  assert.is(found.ok ? '' : found.refusal.code, 'stream-damaged')
  const cold = await test.sibling()
  refusedWith(await cold.execute(alice, 'r', usage, {}), 'stream-damaged')
  const read = await cold.run(alice, 'r')
  assert.is(read.ok ? '' : read.refusal.code, 'stream-damaged')
  assert.is(await store.head(streamOfR()), 2)
  forged = false
  ok(await cold.execute(alice, 'r', usage, {}))
})

cache.run()
