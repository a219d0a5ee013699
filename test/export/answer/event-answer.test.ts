import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnswerTrailer } from '../../../schemas/answer-trailer.ts'
import type { EventQuery } from '../../../schemas/event-query.ts'
import { runStream } from '../../../schemas/names.ts'
import { prepareAnswer } from '../../../src/export/answer/issue-answer.ts'
import {
  AUDIT_QUERIES,
  type AuditQueryName,
  followsFromLog,
  isOrdered,
} from '../../../src/ledger/audit/audit-queries.ts'
import type { AuditQuestion } from '../../../src/ledger/audit/audit-reads.ts'
import type { AuditIndex } from '../../../src/store/audit-index.ts'
import { openSqliteAudit } from '../../../src/store/sqlite/sqlite-audit.ts'
import { checkView } from '../../../src/verify/view-export.ts'
import { alteredStore, withOtherBody } from '../../support/altered-store.ts'
import { askAll, auditOf } from '../../support/audited.ts'
import { drive } from '../../support/run-driver.ts'
import { alice, type TestLedger, testLedger } from '../../support/test-ledger.ts'
import { openTestStore } from '../../support/test-store.ts'

const test = suite('export: answers made from events')

/** An index that finds nothing, from the moment a test says so. */
function lyingIndex(): { readonly index: AuditIndex; lie(): void } {
  const inner = openSqliteAudit({ path: ':memory:' })
  const nothing: Partial<AuditIndex> = {
    ...{ rows: () => [], openCalls: () => [], openReservations: () => [], openCompensations: () => [] },
    ...{ runStarts: () => ({ starts: [] }), runPart: () => ({}), keys: () => [] },
    ...{ spend: () => [], spendOfBlocks: () => [], spendBlocksAt: () => [], spendOfRuns: () => ({ groups: [] }) },
  }
  let lies = false
  const index = new Proxy(inner, {
    get: (_, name) => (lies ? (Reflect.get(nothing, name) ?? Reflect.get(inner, name)) : Reflect.get(inner, name)),
  })
  const lie = (): void => {
    lies = true
  }
  return { index, lie }
}

async function seeded(test: TestLedger): Promise<void> {
  for (const name of ['one', 'two']) {
    const run = drive(test, name)
    await run.start({ budget: { tokens: 100 } })
    await run.hand('researcher', { facts: { harvest: 'apples and pears' } })
    await run.hand('researcher', { summary: 'gone' })
    await run.called('pay', { agent: 'writer' })
    await run.claimed('open', { agent: 'writer', args: { note: 'a harvest' } })
    await run.do({ kind: 'reserve', body: { agent: 'writer', tokens: 5, cost: '0', deadlineMs: 100_000 } })
    await run.do({
      kind: 'usage',
      body: { agent: 'writer', usage: { tokens: 90, cost: '0.5', currency: 'EUR', model: 'm' } },
    })
  }
  await auditOf(test.ledger).record(alice, { query: 'replay', run: 'one', verdict: 'VERIFIED' } as never)
}

interface Asked {
  readonly question: AuditQuestion
  readonly treeSize: number
  readonly newestFirst?: boolean
  readonly format?: 'jsonl' | 'csv'
}

async function fileOf({ ledger }: TestLedger, { format = 'jsonl', ...asked }: Asked): Promise<string> {
  const prepared = await prepareAnswer(ledger, alice, { format, ...asked })
  if (!prepared.ok) throw new TypeError(prepared.detail)
  await prepared.value.start()
  const chunks: Uint8Array[] = []
  for await (const chunk of prepared.value.chunks()) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const linesOf = (text: string): readonly string[] => text.trimEnd().split('\n')
const rowsOf = (text: string): unknown =>
  linesOf(text)
    .slice(1, -1)
    .map((line) => JSON.parse(line))
const trailerOf = (text: string): AnswerTrailer => JSON.parse(linesOf(text).at(-1) ?? '').trailer

const QUESTIONS: readonly AuditQuestion[] = (Object.keys(AUDIT_QUERIES) as AuditQueryName[])
  .filter((name) => followsFromLog(AUDIT_QUERIES[name].shape))
  .map((name) => ({
    name,
    filter: (name === 'search' ? { text: 'harvest' } : {}) satisfies EventQuery,
    ...(name === 'spend' && { by: 'agent' }),
    ...(name === 'sample' && { seed: 'a root' }),
  }))

test('an index that finds nothing takes no row from a signed answer: the rows are those that the index gave before, in each format and order (A410, LOG-60)', async () => {
  const { index, lie } = lyingIndex()
  await using ledger = await testLedger({ audit: true, merkleLogs: true, auditIndex: index })
  await seeded(ledger)
  const { treeSize } = await auditOf(ledger.ledger).asOf(alice)
  const told = new Map<AuditQuestion, readonly unknown[]>()
  for (const question of QUESTIONS)
    told.set(question, await askAll(ledger.ledger, question.name, { ...question, page: { treeSize } }))
  const before = await askAll(ledger.ledger, 'events', { page: { treeSize, newestFirst: true } })
  lie()
  assert.equal(await askAll(ledger.ledger, 'events', { page: { treeSize } }), [])
  let count = 0
  for (const [question, rows] of told) {
    const text = await fileOf(ledger, { question, treeSize })
    assert.equal(rowsOf(text), rows, question.name)
    assert.equal([trailerOf(text).rows, trailerOf(text).restsOn], [rows.length, 'events'], question.name)
    const csv = await fileOf(ledger, { question, treeSize, format: 'csv' })
    assert.is(linesOf(csv).length, rows.length + 2, question.name)
    if (rows.length > 0) count += 1
  }
  assert.ok(count > 10, `${count} questions have rows`)
  assert.ok(isOrdered('events'))
  assert.equal(
    rowsOf(await fileOf(ledger, { question: { name: 'events', filter: {} }, treeSize, newestFirst: true })),
    before,
  )
})

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

test('events that are gone or altered are named in the answer that follows from them, which is INCOMPLETE; an answer about another run names none (A411)', async () => {
  const altered = alteredStore(await openTestStore())
  await using ledger = await testLedger({ store: altered.store, audit: true, merkleLogs: true })
  await seeded(ledger)
  const { treeSize } = await auditOf(ledger.ledger).asOf(alice)
  await ledger.ledger.logs?.publish()
  const stream = runStream(alice.tenant, 'one')
  const lossesOf = async (filter: EventQuery) => {
    const text = await fileOf(ledger, {
      question: { name: 'search', filter: { text: 'harvest', ...filter } },
      treeSize,
    })
    const { fault } = await checkView(once(text), 'answer')
    return { losses: trailerOf(text).losses, rows: trailerOf(text).rows, fault: fault.code }
  }
  const sound = await lossesOf({})
  assert.equal([sound.losses, sound.fault], [undefined, 'view'])
  altered.alter(withOtherBody(stream, 1, ['harvest', 'nothing']))
  const { losses, rows, fault } = await lossesOf({})
  assert.equal([losses, fault], [[{ scope: 'run', code: 'seal', stream, revision: 1 }], 'losses'])
  assert.is(rows, sound.rows - 1)
  assert.is((await lossesOf({ run: 'two' })).losses, undefined)
  altered.alter((record) => (record.stream === stream && record.revision === 1 ? undefined : record))
  assert.equal((await lossesOf({})).losses, [{ scope: 'run', code: 'missing', stream, revision: 1 }])
})

test.run()
