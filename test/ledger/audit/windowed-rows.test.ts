import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AuditRow } from '../../../schemas/audit-fields.ts'
import { windowedRows } from '../../../src/ledger/audit/windowed-rows.ts'
import type { LeafPage } from '../../../src/store/audit-index.ts'

const test = suite('audit: rows a stretch at a time')

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
      const found = await windowedRows(rowsOf, { ...asked, after }, { size })
      assert.ok(looked() <= 20_001, 'no look is longer than its window')
      const whole = reader(size, every).rowsOf({ ...asked, after, ...(asked.newestFirst && { upTo: 0 }) })
      assert.equal(found, whole)
    }),
    { numRuns: 300 },
  )
})

test.run()
