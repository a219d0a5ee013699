import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import type { RunsAsOf, RunsFilter } from '../../../src/ledger/audit/audit-reads.ts'
import { runsAsOf } from '../../../src/ledger/audit/runs-as-of.ts'
import { Followed } from '../../../src/ledger/followed.ts'
import { RunList } from '../../../src/ledger/read/run-list.ts'
import type { Pace } from '../../../src/resources/work-queue.ts'
import { openSqliteAudit } from '../../../src/store/sqlite/sqlite-audit.ts'
import { assertRefusesPagesAsOf, auditOf } from '../../support/audited.ts'
import { randomRun } from '../../support/random-run.ts'
import { drive, ok } from '../../support/run-driver.ts'
import { alice, type TestLedger, testLedger } from '../../support/test-ledger.ts'

const past = suite('audit: the run list as of a size of the log')

const FILTERS: readonly RunsFilter[] = [
  {},
  { status: 'open' },
  { status: 'completed' },
  { refused: true },
  { waiting: true },
  { inDoubt: true },
  { overdue: true },
  { stuck: true },
  { withOpenCalls: true },
  { agent: 'ann' },
  { tag: 'b' },
  { name: 'chance' },
  { contains: 'BOB' },
  { contains: 'second' },
  { status: 'open', agent: 'bob' },
]

const byRun = (items: readonly JsonObject[]) => [...items].sort((a, b) => (String(a.runId) < String(b.runId) ? -1 : 1))

async function pageAsOf({ ledger }: TestLedger, filter: RunsFilter, treeSize: number, more = {}): Promise<RunsAsOf> {
  const found = await auditOf(ledger).runs(alice, filter, { treeSize, limit: 500, ...more })
  if (!found.ok) throw new Error(`${found.code}: ${found.detail}`)
  return found
}

past(
  'whatever happens later, the runs as of a size are the list of that moment, by every filter (HTTP-22)',
  async () => {
    for (const seed of [1, 2, 3]) {
      await using test = await testLedger({ audit: true })
      const moments: { readonly size: number; readonly lists: readonly (readonly JsonObject[])[] }[] = []
      const lookAround = async (): Promise<void> => {
        const { treeSize } = await auditOf(test.ledger).asOf(alice)
        const lists = []
        for (const filter of FILTERS) lists.push((await test.ledger.listRuns(alice, { ...filter, limit: 500 })).items)
        moments.push({ size: treeSize, lists })
      }
      for (const [index, runId] of ['first', 'second', 'first', 'third', 'second', 'first'].entries()) {
        await randomRun(test, runId, { seed: seed * 100 + index, steps: 12 })
        await drive(test, runId).hand('ann', { facts: [`f${index}`] })
        await lookAround()
      }
      await drive(test, 'first').do({ kind: 'complete', body: {} })
      for (const { size, lists } of moments) {
        for (const [index, filter] of FILTERS.entries()) {
          const { items, next } = await pageAsOf(test, filter, size)
          assert.is(next, undefined)
          assert.equal(byRun(items), byRun(lists[index] ?? []), `${JSON.stringify(filter)} as of ${size}, seed ${seed}`)
        }
      }
    }
  },
)

past('runs that began later are not there, and pages go on until all are given (HTTP-22)', async () => {
  await using test = await testLedger({ audit: true })
  for (const id of ['a', 'b', 'c', 'd', 'e']) await drive(test, id).start()
  const { treeSize } = await auditOf(test.ledger).asOf(alice)
  for (const id of ['f', 'g']) await drive(test, id).start()
  const seen: string[] = []
  for (let page = await pageAsOf(test, {}, treeSize, { limit: 2 }); ; ) {
    seen.push(...page.items.map(({ runId }) => String(runId)))
    if (page.next === undefined) break
    const place = { after: page.next, eventId: page.asOf.eventId ?? '', limit: 2 }
    page = await pageAsOf(test, {}, treeSize, place)
  }
  assert.equal(seen, ['e', 'd', 'c', 'b', 'a'])
})

past('a size beyond the log, another log, and a token of one agent or one run are refused (A255)', async () => {
  await using test = await testLedger({ audit: true })
  await drive(test, 'r').start()
  const { runs } = auditOf(test.ledger)
  await assertRefusesPagesAsOf((caller, page) => runs(caller, {}, page))
})

past('a page looks at so many runs and folds so many events, and says where the next one goes on (A255)', async () => {
  const index = openSqliteAudit({ path: ':memory:' })
  await using test = await testLedger({ audit: true, auditIndex: index })
  for (const id of ['a', 'b', 'c', 'd']) {
    const run = drive(test, id)
    await run.start()
    for (const facts of [['one'], ['one', 'two']]) ok(await run.hand('ann', { facts }))
  }
  const { treeSize } = await auditOf(test.ledger).asOf(alice)
  for (const id of ['a', 'b', 'c', 'd']) ok(await drive(test, id).hand('bob', { facts: ['one', 'two', 'three'] }))
  await auditOf(test.ledger).asOf(alice)

  let read = 0
  const counted: typeof test.store.readStream = (stream, options) => {
    read += (options?.to ?? 0) + 1
    return test.store.readStream(stream, options)
  }
  const follower = { nowMs: () => 0, appendsSoFar: () => 0, followed: new Followed(() => 0) }
  using list = new RunList(test.store, test.views, follower)
  const deps = { index, list, store: { readStream: counted }, catchUp: async () => undefined }
  const walk = async (bounds: { lookedMax?: number; foldedMax?: number }, filter: RunsFilter = {}) => {
    const pages: (readonly JsonObject[])[] = []
    const runs = runsAsOf({ ...deps, ...bounds })
    for (let after: number | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
      read = 0
      const found = await runs(alice, filter, { treeSize, limit: 500, after })
      if (!found.ok) throw new Error(found.detail)
      if (bounds.foldedMax !== undefined) assert.ok(read <= bounds.foldedMax, `${read} events read`)
      pages.push(found.items)
      after = found.next
    }
    return pages
  }
  const ids = (pages: readonly (readonly JsonObject[])[]) => pages.map((items) => items.map(({ runId }) => runId))
  const events = Number((await walk({}))[0]?.[0]?.revision) + 1
  assert.equal(ids(await walk({ lookedMax: 2 })), [
    ['d', 'c'],
    ['b', 'a'],
  ])
  assert.equal(ids(await walk({ foldedMax: 2 * events })), [
    ['d', 'c'],
    ['b', 'a'],
  ])
  // Nobody counts a run of so many events for a list, and none is left out for it: what is not known is not there.
  const [short = []] = await walk({ foldedMax: events - 1 })
  assert.ok(short.length > 0)
  for (const { notCounted, step, tokens, revision, status } of short)
    assert.equal([notCounted, step, tokens, revision, status], [true, undefined, undefined, events - 1, 'open'])
  assert.equal(ids(await walk({ foldedMax: events - 1 }, { inDoubt: true })).flat(), ['d', 'c', 'b', 'a'])
  assert.equal(ids(await walk({ foldedMax: events - 1 }, { status: 'completed' })).flat(), [])
})

past(
  'a filter that none of the runs fits gives other work a turn between two of them, however many it looks at (F260)',
  async () => {
    await using test = await testLedger({ audit: true })
    const runs = 30
    for (let run = 0; run < runs; run += 1) await drive(test, `r${run}`).start()
    const { treeSize } = await auditOf(test.ledger).asOf(alice)
    let turns = 0
    const turn = (): undefined => {
      turns += 1
    }
    const pace: Pace = { turn, isOver: false, leave: () => undefined }
    const found = await auditOf(test.ledger).runs({ ...alice, pace }, { status: 'failed' }, { treeSize, limit: 10 })
    assert.ok(found.ok && found.items.length === 0)
    assert.ok(turns >= runs, `${turns} turns`)
  },
)

past.run()
