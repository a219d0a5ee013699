import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AuditRow } from '../../../schemas/audit-fields.ts'
import { missingRevisions, summedGroups } from '../../../src/ledger/audit/sliced-groups.ts'
import { windowedRows } from '../../../src/ledger/audit/windowed-rows.ts'
import { ScanWindow } from '../../../src/resources/scan-window.ts'
import { type Pace, ReaderLeftError } from '../../../src/resources/work-queue.ts'
import type { AuditIndex, LeafPage, LeafWindow } from '../../../src/store/audit-index.ts'
import { openSqliteAudit } from '../../../src/store/sqlite/sqlite-audit.ts'

const test = suite('audit: rows a window at a time')

/** Every statement takes five milliseconds. */
function slow(): ScanWindow {
  let nowMs = 0
  return new ScanWindow(() => (nowMs += 5))
}

/** Rows of a log of `size` leaves, one in `every`. */
function reader(
  size: number,
  every: number,
): { rowsOf: (page: LeafPage) => readonly AuditRow[]; looked: () => number } {
  let widest = 0
  return {
    looked: () => widest,
    rowsOf: ({ after, upTo, limit, newestFirst = false }) => {
      const [low, high] = newestFirst
        ? [Math.max(0, upTo ?? 0), (after ?? size) - 1]
        : [(after ?? -1) + 1, Math.min(size - 1, upTo ?? size)]
      widest = Math.max(widest, high - low + 1)
      const rows: AuditRow[] = []
      const first = newestFirst ? Math.floor(high / every) * every : Math.ceil(low / every) * every
      for (let leaf = first; leaf >= low && leaf <= high && rows.length < limit; leaf += newestFirst ? -every : every)
        rows.push({ leaf } as AuditRow)
      return rows
    },
  }
}

test('they are the rows of one long look, in either order, from any place on', async () => {
  const page = fc.record({
    size: fc.nat(300_000),
    every: fc.integer({ min: 1, max: 120_000 }),
    after: fc.option(fc.nat(300_000), { nil: undefined }),
    limit: fc.integer({ min: 1, max: 40 }),
    newestFirst: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(page, async ({ size, every, ...asked }) => {
      const after = asked.after === undefined ? undefined : Math.min(asked.after, size)
      const { rowsOf, looked } = reader(size, every)
      const found = await windowedRows(rowsOf, { ...asked, after }, { size, window: slow() })
      assert.ok(looked() <= 4_001, 'no look is longer than its window')
      const whole = reader(size, every).rowsOf({ ...asked, after, ...(asked.newestFirst && { upTo: 0 }) })
      assert.equal(found, whole)
    }),
    { numRuns: 300 },
  )
})

test('the revisions that a run lacks are found a bounded number of rows at a time (F112)', async () => {
  using index = openSqliteAudit({ path: ':memory:' })
  const gaps = new Set([0, 1, 700, 701, 1999, ...Array.from({ length: 40 }, (_, at) => 2100 + 2 * at)])
  const revisions = Array.from({ length: 2400 }, (_, revision) => revision).filter((revision) => !gaps.has(revision))
  const texts = {
    tenant: 'acme',
    run: 'one',
    time: '2026-01-01T00:00:00.000Z',
    actor: 'a',
    principal: 'a',
    kid: 'k',
    type: 'T',
  }
  const entries = revisions.map((revision, leaf) => ({
    row: {
      ...texts,
      position: String(leaf),
      id: `e${leaf}`,
      clocked: false,
      stream: 'run-acme.one',
      leaf,
      revision,
      rules: [],
      marks: [],
    },
    charges: [],
    text: '',
  }))
  index.save({ entries, states: new Map(), foreign: [], progress: { position: '9', digest: 'd' } }, undefined)
  const view = { tenant: 'acme', size: revisions.length }
  const walks: number[] = []
  const counted: Pick<AuditIndex, 'missingRevisions'> = {
    missingRevisions: (of, run, walk) => {
      walks.push(walk.rows)
      return index.missingRevisions(of, run, walk)
    },
  }
  const first = (limit: number) => missingRevisions(counted, view, { run: 'one', limit, pace: undefined })
  assert.equal(await first(1000), [...gaps])
  assert.ok(walks.length >= 4 && Math.max(...walks) <= 500, walks.join())
  assert.equal(await first(3), [0, 1, 700])
  const gone: Pace = {
    turn: () => {
      throw new ReaderLeftError()
    },
    isOver: true,
    leave: () => undefined,
  }
  const left = missingRevisions(counted, view, { run: 'one', limit: 3, pace: gone }).catch((error: unknown) => error)
  assert.instance(await left, ReaderLeftError)
})

test('sums made window by window are those of one statement, whatever the page (F79)', async () => {
  const charge = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e'), tokens: fc.nat(9) })
  await fc.assert(
    fc.asyncProperty(
      fc.array(charge, { maxLength: 12 }),
      fc.integer({ min: 1, max: 6 }),
      fc.nat(1_500),
      async (charges, limit, gap) => {
        const rows = charges.map((each, at) => ({ ...each, leaf: at * (gap + 1) }))
        const summed = (from: number, upTo: number) =>
          [...new Set(rows.filter(({ leaf }) => leaf > from && leaf <= upTo).map(({ key }) => key))]
            .sort()
            .map((key) => ({
              key,
              tokens: rows
                .filter((row) => row.key === key && row.leaf > from && row.leaf <= upTo)
                .reduce((sum, { tokens }) => sum + tokens, 0),
            }))
            .slice(0, limit)
        let widest = 0
        const found = await summedGroups(
          {
            groupsOf: ({ after, upTo }: LeafWindow) => {
              widest = Math.max(widest, upTo - after)
              return summed(after, upTo)
            },
            add: (a, b) => ({ key: a.key, tokens: a.tokens + b.tokens }),
            compare: (a, b) => (a.key < b.key ? -1 : a.key === b.key ? 0 : 1),
            limit,
          },
          { size: 20_000, pace: undefined, window: slow() },
        )
        assert.equal(found, summed(-1, 20_000))
        assert.is(widest, 4_000)
      },
    ),
    { numRuns: 40 },
  )
})

test.run()
