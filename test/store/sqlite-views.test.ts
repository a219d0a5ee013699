import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openSqliteViews } from '../../src/store/sqlite/sqlite-views.ts'
import type { RunRow } from '../../src/store/view-store.ts'
import { runRow as run } from '../support/run-row.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('sqlite views')

const RUNS = { projection: 'runs', version: 1, from: undefined, digest: 'd' }

function at(hour: number): string {
  return `2026-01-01T${String(hour).padStart(2, '0')}:00:00.000Z`
}

test('a row comes back as it was saved, with and without its cost', () => {
  using views = openSqliteViews({ path: ':memory:' })
  const plain = run({ tags: ['a', 'b"c'], agents: ['x'], tokens: 12 })
  const priced = run({ runId: 'r2', cost: '0.000000001', currency: 'EUR', fold: '{"a":[1]}' })
  views.saveRuns([plain, priced], { ...RUNS, position: '7' })
  assert.equal(views.runRow('acme', 'r1'), plain)
  assert.equal(views.runRow('acme', 'r2'), priced)
  assert.is(views.runRow('beta', 'r1'), undefined)
  views.saveRuns([{ ...plain, status: 'completed' }], { ...RUNS, from: '7', position: '8' })
  assert.is(views.runRow('acme', 'r1')?.status, 'completed')
})

test('the checkpoint moves with its rows or not at all, and counts for its own version only', () => {
  using views = openSqliteViews({ path: ':memory:' })
  assert.is(views.checkpoint('runs', 1), undefined)
  assert.ok(views.saveRuns([run()], { ...RUNS, position: '7' }))
  assert.equal(views.checkpoint('runs', 1), { position: '7', digest: 'd' })
  assert.is(views.checkpoint('runs', 2), undefined)
  assert.is(views.checkpoint('other', 1), undefined)
  const name: unknown = null
  assert.throws(() =>
    views.saveRuns([run({ runId: 'r2' }), run({ name: name as string })], { ...RUNS, from: '7', position: '9' }),
  )
  assert.is(views.checkpoint('runs', 1)?.position, '7')
  assert.is(views.runRow('acme', 'r2'), undefined)
  assert.not(views.saveRuns([run({ runId: 'r2' })], { ...RUNS, from: '6', position: '9' }))
  assert.is(views.runRow('acme', 'r2'), undefined)
  views.saveRuns([], { ...RUNS, version: 2, position: '3' })
  assert.is(views.checkpoint('runs', 2)?.position, '3')
  assert.is(views.checkpoint('runs', 1), undefined)
})

test('the list is newest first, filters combine, and pages meet without a gap', () => {
  using views = openSqliteViews({ path: ':memory:' })
  const rows = Array.from({ length: 12 }, (_, index) =>
    run({
      runId: `r${String(index).padStart(2, '0')}`,
      startedAt: at(Math.floor(index / 2)),
      status: index % 3 === 0 ? 'failed' : 'open',
      name: index < 6 ? 'early' : 'late',
      tags: index % 2 === 0 ? ['even', 'all'] : ['all'],
      agents: [`agent-${index % 4}`],
    }),
  )
  views.saveRuns([...rows, run({ tenant: 'beta', runId: 'r99', tags: ['all'] })], { ...RUNS, position: '1' })
  const ids = (filter: Partial<Parameters<typeof views.listRuns>[0]>): readonly string[] =>
    views.listRuns({ tenant: 'acme', limit: 100, ...filter }).rows.map(({ runId }) => runId)
  const newest = rows.map(({ runId }) => runId).toReversed()

  assert.equal(ids({}), newest)
  assert.equal(ids({ status: 'failed' }), ['r09', 'r06', 'r03', 'r00'])
  assert.equal(ids({ status: 'failed', name: 'early' }), ['r03', 'r00'])
  assert.equal(ids({ tag: 'even', agent: 'agent-2' }), ['r10', 'r06', 'r02'])
  assert.equal(ids({ since: at(1), until: at(3) }), ['r05', 'r04', 'r03', 'r02'])
  assert.equal(ids({ tag: `' OR 1=1 --` }), [])

  const paged: string[] = []
  for (let after: { startedAt: string; runId: string } | undefined; ; ) {
    const page = views.listRuns({ tenant: 'acme', limit: 5, ...(after === undefined ? {} : { after }) }).rows
    paged.push(...page.map(({ runId }) => runId))
    after = page.at(-1)
    if (page.length < 5) break
  }
  assert.equal(paged, newest)
})

test('runs that are due come by time over all names, with the time of the next one, of one tenant and of fitting versions (RUN-222, RUN-225)', () => {
  using views = openSqliteViews({ path: ':memory:' })
  const rows = [
    run({ runId: 'd', name: 'order', dueAt: at(4), version: '1' }),
    run({ runId: 'c', name: 'refund', dueAt: at(3) }),
    run({ runId: 'b', name: 'order', dueAt: at(2), version: '2' }),
    run({ runId: 'a', name: 'other', dueAt: at(1) }),
    run({ runId: 'waits', name: 'order' }),
    run({ runId: 'later', name: 'refund', dueAt: at(9) }),
    run({ tenant: 'beta', runId: 'z', name: 'order', dueAt: at(1) }),
  ]
  views.saveRuns(rows, { ...RUNS, position: '1' })
  const all = { tenant: 'acme', names: ['order', 'refund'], dueBy: at(8), limit: 10 }
  const ids = (more: object = {}): readonly string[] => views.dueRuns({ ...all, ...more }).map(({ runId }) => runId)
  assert.equal(ids(), ['b', 'c', 'd'])
  assert.equal(ids({ limit: 2 }), ['b', 'c'])
  assert.equal(ids({ dueBy: at(3) }), ['b', 'c'])
  assert.equal(ids({ versions: ['1', '3'] }), ['c', 'd'])
  assert.equal(ids({ versions: [] }), ['c'])
  assert.equal(ids({ after: { dueAt: at(2), runId: 'b' } }), ['c', 'd'])
  assert.equal(ids({ after: { dueAt: at(3), runId: 'b' } }), ['c', 'd'])
  assert.equal(ids({ after: { dueAt: at(3), runId: 'c' } }), ['d'])
  assert.equal(ids({ names: ['nothing'] }), [])
  assert.equal(views.dueRuns(all)[0], rows[2])
  assert.is(views.nextDue(all), at(9))
  assert.is(views.nextDue({ ...all, dueBy: at(2) }), at(3))
  assert.is(views.nextDue({ ...all, names: ['order'] }), undefined)
})

const STUCK = { code: 'resume-diverged', message: 'no', attempts: 2, since: at(1), until: at(2) }

test('runs that workers carry are counted from the end of their holds on, of one tenant, without the one that is excepted (RUN-244)', () => {
  using views = openSqliteViews({ path: ':memory:' })
  const rows = [
    run({ runId: 'b', carriedUntil: at(5) }),
    run({ runId: 'a', carriedUntil: at(3) }),
    run({ runId: 'over', carriedUntil: at(1) }),
    run({ runId: 'left' }),
    run({ tenant: 'beta', runId: 'z', carriedUntil: at(5) }),
  ]
  views.saveRuns(rows, { ...RUNS, position: '1' })
  const carried = (more: object = {}) => views.carried({ tenant: 'acme', at: at(1), limit: 10, ...more })
  assert.equal(carried(), { count: 2, firstEnd: at(3) })
  assert.equal(carried({ limit: 1 }), { count: 1, firstEnd: at(3) })
  assert.equal(carried({ except: 'a' }), { count: 1, firstEnd: at(5) })
  assert.equal(carried({ at: at(5) }), { count: 0, firstEnd: null })
})

test('a statement of the list looks at a bounded number of runs, whatever the filter, and goes on from there (F109)', () => {
  using views = openSqliteViews({ path: ':memory:' })
  const rows = Array.from({ length: 300 }, (_, index) =>
    run({
      runId: `r${String(index).padStart(3, '0')}`,
      startedAt: at(Math.floor(index / 20)),
      status: index === 7 ? 'failed' : 'open',
      tags: index % 50 === 0 ? ['rare'] : [],
      agents: [`agent-${index % 3}`],
      rejections: index % 40,
      waiting: index % 90 === 0 ? 1 : 0,
      ...(index % 60 === 0 && { stuck: STUCK }),
      approvals: index % 180 === 0 ? 1 : 0,
      openCalls: index % 4,
      inDoubtCalls: index % 100 === 3 ? 1 : 0,
      ...(index % 4 > 0 && { leaseUntil: at(index % 20) }),
      ...(index % 5 === 0 && { compensation: index % 2 === 0 ? 'compensated' : 'partial' }),
    }),
  )
  views.saveRuns(rows, { ...RUNS, position: '1' })
  const newest = rows.toReversed()
  type Filter = Partial<Parameters<typeof views.listRuns>[0]>
  const cases: readonly (readonly [filter: Filter, fits: (row: RunRow) => boolean, looks: number])[] = [
    [{}, () => true, 300],
    [{ status: 'failed' }, ({ status }) => status === 'failed', 300],
    [{ name: 'none' }, () => false, 300],
    [{ tag: 'rare', agent: 'agent-1' }, ({ tags, agents }) => tags.length > 0 && agents[0] === 'agent-1', 300],
    [
      { refused: true, since: at(3), until: at(9) },
      (row) => row.rejections > 0 && row.startedAt >= at(3) && row.startedAt < at(9),
      120,
    ],
    [{ waiting: true }, ({ waiting }) => waiting > 0, 4],
    [{ withApprovals: true }, ({ waiting, approvals }) => waiting > 0 && approvals > 0, 4],
    [{ stuck: true }, ({ stuck }) => stuck !== undefined, 5],
    [{ stuck: true, waiting: true }, ({ stuck, waiting }) => stuck !== undefined && waiting > 0, 4],
    [{ withOpenCalls: true }, ({ openCalls }) => openCalls > 0, 225],
    [{ inDoubt: true }, ({ openCalls, inDoubtCalls }) => openCalls > 0 && inDoubtCalls > 0, 225],
    [{ leaseOverAt: at(2) }, ({ leaseUntil = at(23), openCalls }) => openCalls > 0 && leaseUntil < at(2), 225],
    [
      { compensation: 'partial', withOpenCalls: true },
      (row) => row.compensation === 'partial' && row.openCalls > 0,
      30,
    ],
  ]
  for (const [filter, fits, looks] of cases) {
    const found: RunRow[] = []
    let after: Filter['after']
    let stretches = 0
    for (; ; stretches += 1) {
      const page = views.listRuns({ tenant: 'acme', limit: 1000, ...filter, ...(after && { after }) }, 10)
      assert.ok(page.rows.length <= 10)
      found.push(...page.rows)
      after = page.next
      if (after === undefined) break
    }
    const what = JSON.stringify(filter)
    assert.equal(found, newest.filter(fits), what)
    assert.is(stretches, Math.floor(looks / 10), what)
  }
})

test('a cached fold is kept for each projection, the last one only', () => {
  using views = openSqliteViews({ path: ':memory:' })
  const fold = { stream: 'run-acme.r1', revision: 4, projection: 'run@1', text: '{}', mac: 'm' }
  views.saveFold(fold)
  views.saveFold({ ...fold, revision: 9 })
  assert.equal(views.loadFold('run-acme.r1', 'run@1'), { ...fold, revision: 9 })
  assert.is(views.loadFold('run-acme.r1', 'run@2'), undefined)
  views.renew('a test')
  assert.is(views.loadFold('run-acme.r1', 'run@1'), undefined)
})

test('rows outlive a restart; a damaged, foreign or outdated file is rebuilt (STR-24)', () => {
  using folder = tempFolder()
  const path = folder.file('views.sqlite')
  const fill = () => {
    using views = openSqliteViews({ path })
    for (let turn = 0; turn < 50; turn += 1) {
      views.saveRuns([run({ runId: `r${turn}` })], { ...RUNS, from: turn === 0 ? undefined : '7', position: '7' })
    }
  }
  const reached = () => {
    using views = openSqliteViews({ path })
    return views.checkpoint('runs', 1)?.position
  }
  fill()
  assert.is(reached(), '7')

  writeFileSync(path, 'no database at all '.repeat(300))
  assert.is(reached(), undefined)
  fill()
  truncateSync(path, 3_000)
  assert.is(reached(), undefined)
  fill()
  const bytes = readFileSync(path)
  bytes.fill(0xff, 100, 4_096)
  writeFileSync(path, bytes)
  assert.is(reached(), undefined)
  fill()
  const db = new Sqlite(path)
  db.exec('PRAGMA user_version = 12345; ALTER TABLE runs DROP COLUMN fold')
  db.close()
  assert.is(reached(), undefined)
  fill()
  assert.is(reached(), '7')
})

test.run()
