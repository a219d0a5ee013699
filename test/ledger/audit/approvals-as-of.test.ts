import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Command } from '../../../schemas/commands.ts'
import { approvalsAsOf } from '../../../src/ledger/audit/approvals-as-of.ts'
import type { PendingThen } from '../../../src/ledger/read/approval-reads.ts'
import { openSqliteAudit } from '../../../src/store/sqlite/sqlite-audit.ts'
import { assertRefusesPagesAsOf, auditOf } from '../../support/audited.ts'
import { drive, ok } from '../../support/run-driver.ts'
import { alice, testLedger } from '../../support/test-ledger.ts'

const past = suite('audit: approvals as of a size of the log')

const claim = (amount: number): Command => ({
  kind: 'claim',
  body: { tool: 'pay', args: { amount }, approve: { reason: 'over the limit' } },
})

past('a size beyond the log, another log, and a token of one agent or one run are refused (A255)', async () => {
  await using test = await testLedger({ audit: true })
  await drive(test, 'r').start()
  const { approvals } = auditOf(test.ledger)
  await assertRefusesPagesAsOf((caller, page) => approvals(caller, page))
})

past(
  'a page looks at so many requests and folds so many events, and says where the next one goes on (A255)',
  async () => {
    const index = openSqliteAudit({ path: ':memory:' })
    await using test = await testLedger({ audit: true, auditIndex: index })
    for (const id of ['a', 'b', 'c', 'd']) {
      const run = drive(test, id)
      await run.start()
      await run.do(claim(1))
      await run.do(claim(2))
    }
    const { treeSize } = await auditOf(test.ledger).asOf(alice)
    for (const id of ['a', 'b', 'c', 'd']) ok(await drive(test, id).hand('bob', { facts: ['one'] }))
    await auditOf(test.ledger).asOf(alice)

    const folded: string[] = []
    const pendingThen = async (_: unknown, runId: string, { revision }: { readonly revision: number }) => {
      folded.push(runId)
      const value: PendingThen = new Map([1, 2].map((request) => [request, async () => ({ runId, request })]))
      return { ok: true as const, revision, value }
    }
    const list = { catchUp: async () => undefined, row: () => undefined }
    const walk = async (bounds: { lookedMax?: number; foldedMax?: number }) => {
      const pages: string[] = []
      const ask = approvalsAsOf({ index, list, approvals: { pendingThen }, catchUp: async () => undefined, ...bounds })
      for (let after: number | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
        folded.length = 0
        const found = await ask(alice, { treeSize, limit: 500, after })
        if (!found.ok) throw new Error(found.detail)
        const items = found.items.map(({ runId, request }) => `${runId}${request}`)
        pages.push(`${items.join(' ')} by ${folded.join('')}`)
        after = found.next
      }
      return pages
    }
    assert.equal(await walk({}), ['d2 d1 c2 c1 b2 b1 a2 a1 by dcba'])
    assert.equal(await walk({ lookedMax: 3 }), ['d2 d1 c2 by dc', 'c1 b2 b1 by cb', 'a2 a1 by a'])
    assert.equal(await walk({ foldedMax: 6 }), ['d2 d1 c2 c1 by dc', 'b2 b1 a2 a1 by ba'])
    // A run of more events than a page folds is folded alone: none is left out.
    assert.equal(await walk({ foldedMax: 1 }), ['d2 d1 by d', 'c2 c1 by c', 'b2 b1 by b', 'a2 a1 by a'])
  },
)

past('runs that had ended then, and those that are as they were and wait for nobody, are not folded', async () => {
  const index = openSqliteAudit({ path: ':memory:' })
  await using test = await testLedger({ audit: true, auditIndex: index })
  for (const id of ['ended', 'open']) {
    await drive(test, id).start()
    await drive(test, id).do(claim(1))
  }
  await drive(test, 'ended').do({ kind: 'complete', body: {} })
  const { treeSize } = await auditOf(test.ledger).asOf(alice)
  const pendingThen = async (): Promise<never> => {
    throw new Error('folded')
  }
  const row = (_: string, run: string) => ({ ...test.views.runRow(alice.tenant, run), approvals: 0 }) as never
  const list = { catchUp: async () => undefined, row }
  await test.ledger.listRuns(alice, { limit: 5 })
  const ask = approvalsAsOf({ index, list, approvals: { pendingThen }, catchUp: async () => undefined })
  const found = await ask(alice, { treeSize, limit: 5 })
  assert.ok(found.ok && found.items.length === 0)
})

past('a filter that gives nothing gives other work a turn for each request that it looks at (F260)', async () => {
  await using test = await testLedger({ audit: true })
  const run = drive(test, 'r')
  await run.start()
  for (let amount = 0; amount < 30; amount += 1) await run.do(claim(amount))
  await run.do({ kind: 'complete', body: {} })
  const { treeSize } = await auditOf(test.ledger).asOf(alice)
  let turns = 0
  const turn = (): undefined => {
    turns += 1
  }
  const pace = { turn, isOver: false, leave: () => undefined }
  const found = await auditOf(test.ledger).approvals({ ...alice, pace }, { treeSize, limit: 10 })
  assert.ok(found.ok && found.items.length === 0)
  assert.ok(turns >= 30, `${turns} turns`)
})

past.run()
