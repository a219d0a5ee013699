import { parse } from 'csv-parse/sync'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { AUDIT_QUERIES } from '../../src/ledger/audit/audit-queries.ts'
import { downloadsOf, rowsOf, textOf } from '../support/page-downloads.ts'
import { drive, ok } from '../support/run-driver.ts'
import { testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('dashboard: answers of all pages to take along')

const INPUT: Readonly<Record<string, string>> = { search: '?text=broke', sample: '?seed=s', spend: '?by=agent' }
const QUESTIONS = Object.keys(AUDIT_QUERIES).map((name) => `/ui/audit/${name}${INPUT[name] ?? ''}`)
const PAGES = [...QUESTIONS, '/ui/spend', '/ui/doubts', '/ui/approvals', '/ui/service']

test('every page with an answer says what was asked, of what period, as of when and by whom, and hands over every row as CSV and JSONL, of an empty log too (HTTP-76)', async () => {
  await using edge = await testEdge({ audit: true, merkleLogs: true })
  const olga = await signedIn(edge, { subject: 'olga' })
  for (const isEmpty of [true, false]) {
    if (!isEmpty) {
      const run = drive(edge.inner, 'order', { tenant: edge.tenant, actor: 'alice' })
      await run.start()
      for (let n = 0; n < 60; n += 1)
        ok(
          await run.do({
            kind: 'usage',
            body: { agent: `a${n}`, usage: { tokens: 1, cost: '0.01', currency: 'USD' } },
          }),
        )
      ok(await run.settle(await run.claimed('pay'), { unknown: { reason: 'the line broke' } }))
    }
    for (const page of PAGES) {
      const html = await olga.html(page)
      const [, said = ''] = /<section class="card taken"([\s\S]*?)<\/section>/.exec(html) ?? []
      for (const label of ['Question', 'Filters', 'Period', 'As of', 'Asked by', 'Asked at (UTC)'])
        assert.ok(said.includes(`<dt>${label}</dt>`), `${page}: ${label}`)
      assert.match(said, /olga/)
      const { csv, jsonl } = downloadsOf(html)
      assert.ok(csv.length > 0 && csv.length === jsonl.length, page)
      for (const [at, href] of jsonl.entries()) {
        const rows = rowsOf(await textOf(olga, href))
        const table = await textOf(olga, csv[at] ?? '')
        const lines = parse(table, { relaxColumnCount: true, comment: '#' }) as string[][]
        assert.ok(lines.length > rows.length, `${page}: ${lines.length} lines, ${rows.length} rows`)
        if (!isEmpty && page === '/ui/audit/spend?by=agent') assert.is(rows.length, 60)
      }
    }
  }
})

test.run()
