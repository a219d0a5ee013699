import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ledgerStream } from '../../schemas/names.ts'
import { type OpenLedger, openLedger } from '../../src/compose/compose.ts'
import { prepareAnswer } from '../../src/export/answer/issue-answer.ts'
import { FORMAT_NAMES, type FormatName } from '../../src/export/formats.ts'
import { type ExportRequest, prepareExport } from '../../src/export/issue-export.ts'
import type { AuditQueryName } from '../../src/ledger/audit/audit-queries.ts'
import { AUDIT_QUERIES } from '../../src/ledger/audit/audit-queries.ts'
import type { AuditPageRequest, AuditQuestion, PlannedQuestion } from '../../src/ledger/audit/audit-reads.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Caller } from '../../src/ledger/ledger.ts'
import { ReaderThreads } from '../../src/read-workers/reader-threads.ts'
import { ReaderLeftError } from '../../src/resources/work-queue.ts'
import { readSettings } from '../../src/settings/config.ts'
import { type Position, type ReadRecord, StoreUnavailableError } from '../../src/store/event-store.ts'
import { auditOf } from '../support/audited.ts'
import { NO_INDEX } from '../support/no-index.ts'
import { collect } from '../support/records.ts'
import { drive } from '../support/run-driver.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { alice } from '../support/test-ledger.ts'

const test = suite('questions that threads answer')

const settingsOf = (data: string, readThreads: string) =>
  readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': readThreads, 'scrub-days': '0' }, {})

const opening = (data: string, readThreads = '1'): Promise<OpenLedger> =>
  openLedger(settingsOf(data, readThreads), silentLog)

/** Runs with handoffs, costs, a call that is open and a refusal. */
async function seeded(data: string): Promise<OpenLedger> {
  const opened = await opening(data)
  for (let n = 0; n < 4; n += 1) {
    const run = drive(opened, `r${n}`)
    await run.start()
    for (let step = 0; step < 6; step += 1) await run.hand(`agent-${step % 2}`, { note: `apple ${step} of ${n}` })
    await run.do({ kind: 'usage', body: { agent: 'agent-0', usage: { tokens: 5 + n, cost: '0.01', currency: 'USD' } } })
    await run.claim('search', { args: { query: 'pears' } })
  }
  return opened
}

const QUESTIONS: readonly AuditQuestion[] = [
  ...(Object.keys(AUDIT_QUERIES) as AuditQueryName[])
    .filter((name) => name !== 'search' && name !== 'sample')
    .map((name) => ({ name, filter: {} })),
  { name: 'sample', filter: {}, seed: 'a root' },
  { name: 'search', filter: { text: 'apple "2 of"' } },
  { name: 'events', filter: { run: 'r1', types: ['EnvelopeAccepted'] } },
  { name: 'spend', filter: {}, by: 'agent' },
]

async function pageOf({ ledger }: OpenLedger, question: AuditQuestion, page: AuditPageRequest) {
  const found = await auditOf(ledger).ask(alice, question, page)
  if (!found.ok) throw new TypeError(found.detail)
  const { itemsText, items, ...said } = found
  assert.equal(JSON.parse(itemsText()), items)
  assert.is(said.count, items.length)
  return { ...said, items }
}

test('every question of auditors has the same answer, page by page, whichever thread gives it (F210)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  const answers: unknown[][] = []
  let treeSize: number | undefined
  await (await seeded(data))[Symbol.asyncDispose]()
  for (const threads of ['1', '0']) {
    await using opened = await opening(data, threads)
    treeSize ??= (await auditOf(opened.ledger).asOf(alice)).treeSize
    const answered: unknown[] = []
    for (const question of QUESTIONS) {
      const first = await pageOf(opened, question, { treeSize, limit: 3 })
      answered.push(first)
      if (first.next === undefined) continue
      answered.push(await pageOf(opened, question, { treeSize, limit: 50, after: first.next }))
    }
    assert.is(opened.readers?.stats().bodies ?? 0, 0, 'nothing stays open')
    answers.push(answered)
  }
  assert.equal(answers[0], answers[1])
  assert.ok((answers[0]?.length ?? 0) > QUESTIONS.length, 'some have more than a page')
})

/** Records up to a position that the thread of the ledger reads from the store itself. */
function countingReads({ store }: OpenLedger, until: Position): { records: number } {
  const counts = { records: 0 }
  for (const name of ['readAll', 'readStream'] as const) {
    const read = store[name].bind(store) as (...args: unknown[]) => AsyncIterable<readonly ReadRecord[]>
    Object.defineProperty(store, name, {
      configurable: true,
      writable: true,
      value: async function* (...args: unknown[]) {
        for await (const page of read(...args)) {
          counts.records += page.filter(({ position }) => store.comparePositions(position, until) <= 0).length
          yield page
        }
      },
    })
  }
  return counts
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = []
  for await (const chunk of chunks) parts.push(chunk)
  return String(Buffer.concat(parts))
}

test('the thread that writes reads no event for a question, for an answer or for an export, filtered or naming leaves (F211)', async () => {
  using folder = tempFolder()
  await using opened = await seeded(folder.file('data'))
  const { ledger, readers } = opened
  const audit = auditOf(ledger)
  const { treeSize } = await audit.asOf(alice)
  const until = (await ledger.end()) ?? ''
  const all = (await collect(opened.store.readAll({ until }))).length
  const counts = countingReads(opened, until)
  const exported = async (format: FormatName, filter: AuditQuestion['filter']): Promise<number> => {
    const request = { format, query: filter, resume: { until, offset: 0 } }
    const prepared = await prepareExport(ledger, alice, request, readers)
    if (!prepared.ok) throw new TypeError(prepared.detail)
    return (await bytesOf(prepared.value.chunks())).length
  }
  const works = [
    ...QUESTIONS.map((question) => () => audit.ask(alice, question, { treeSize, limit: 50 })),
    ...FORMAT_NAMES.map((format) => () => exported(format, {})),
    ...FORMAT_NAMES.map((format) => () => exported(format, { types: ['EnvelopeAccepted'] })),
    async () => {
      const wanted = { format: 'jsonl', question: { name: 'events', filter: {} }, treeSize } as const
      const prepared = await prepareAnswer(ledger, alice, wanted, readers)
      if (!prepared.ok) throw new TypeError(prepared.detail)
      return bytesOf(prepared.value.chunks())
    },
  ]
  for (const work of works) await work()
  // Once at most by each of the three files that follow the store.
  assert.ok(counts.records <= 3 * all, `${counts.records} records of ${all} events, in ${works.length} works`)
  assert.ok(works.length > 30)
})

test('an export of a query is the same, byte for byte, whichever thread makes it: in each format, from any offset (F210)', async () => {
  using folder = tempFolder()
  await using opened = await seeded(folder.file('data'))
  const { ledger, readers } = opened
  const until = await ledger.end()
  type Made = ExportRequest & { readonly offset: number }
  const made = async ({ format, query, offset }: Made, elsewhere: ReaderThreads | undefined): Promise<string> => {
    const request = { format, ...(query && { query }), resume: { until, offset } }
    const prepared = await prepareExport(ledger, alice, request, elsewhere)
    if (!prepared.ok) throw new TypeError(prepared.detail)
    return bytesOf(prepared.value.chunks())
  }
  for (const format of FORMAT_NAMES) {
    for (const query of [{ types: ['EnvelopeAccepted'] }, { run: 'r1', agent: 'agent-1' }, { text: 'apple' }]) {
      const here = await made({ format, query, offset: 0 }, undefined)
      assert.is(await made({ format, query, offset: 0 }, readers), here)
      const offset = Math.floor(Buffer.byteLength(here) / 2)
      assert.is(await made({ format, query, offset }, readers), String(Buffer.from(here).subarray(offset)))
    }
  }
})

/** Answers with one page, and dies of the next request. */
const MORTAL = new URL(
  `data:text/javascript,import { parentPort } from 'node:worker_threads'; let pages = 0; parentPort.on('message', ({ name, id }) => {
    if (name !== 'next') return
    if (++pages > 1) process.exit(3)
    parentPort.postMessage({ kind: 'done', id, value: { chunk: new Uint8Array([10]), rows: 1, events: 1, bytes: 1, digest: 'd' } })
  })`,
)
/** Never answers. */
const SILENT = new URL(
  `data:text/javascript,import { parentPort } from 'node:worker_threads'; let asked; parentPort.on('message', ({ name, id }) => {
    if (name === 'next') asked = id;
    if (name === 'leave') parentPort.postMessage({ kind: 'failed', id: asked, failure: { message: 'left', kind: 'reader-left' } });
    if (name === 'close') parentPort.postMessage({ kind: 'done', id })
  })`,
)

const threadsOf = (file: URL): ReaderThreads =>
  new ReaderThreads({
    ...{ count: 1, file, workerData: {}, log: silentLog, onFault: () => undefined, index: NO_INDEX },
  })

async function plannedBy({ ledger }: OpenLedger): Promise<PlannedQuestion> {
  const planned = await auditOf(ledger).plan(alice, { name: 'events', filter: {} }, { limit: 5 })
  if ('code' in planned) throw new TypeError(planned.detail)
  return planned
}

test('a thread that dies in the middle of an answer cuts it on record, and one that dies of a question gives 503, never a short answer (F212)', async () => {
  using folder = tempFolder()
  await using opened = await seeded(folder.file('data'))
  const { ledger, store, readers } = opened
  await using mortal = threadsOf(MORTAL)
  const wanted = { format: 'jsonl', question: { name: 'events', filter: {} } } as const
  const prepared = await prepareAnswer(ledger, alice, wanted, mortal)
  assert.ok(prepared.ok)
  await prepared.value.start()
  const cut = await bytesOf(prepared.value.chunks()).catch((error: unknown) => error)
  assert.instance(cut, StoreUnavailableError)
  const records = await collect(store.readStream(ledgerStream(alice.tenant)))
  const issued = records.filter(({ header }) => JSON.parse(header).type === 'ExportIssued').at(-1)
  assert.is(JSON.parse(issued?.data ?? '{}').outcome, 'cut')
  const planned = await plannedBy(opened)
  await mortal.answer(planned, alice).catch(() => undefined)
  const died = await mortal.answer(planned, alice).catch((error: unknown) => error)
  assert.instance(died, StoreUnavailableError)
  assert.is(mortal.stats().bodies, 0)
  const whole = await prepareAnswer(ledger, alice, wanted, readers)
  assert.ok(whole.ok)
  assert.match(await bytesOf(whole.value.chunks()), /\{"trailer":.*\n$/)
})

test('a question whose caller has left is left by its thread, too (F212)', async () => {
  using folder = tempFolder()
  await using opened = await seeded(folder.file('data'))
  await using silent = threadsOf(SILENT)
  const planned = await plannedBy(opened)
  const pace = opened.work.begin({ tenant: alice.tenant, caller: alice.actor })
  const caller: Caller = { tenant: alice.tenant, actor: alice.actor, pace }
  const answer = silent.answer(planned, caller).catch((error: unknown) => error)
  pace.leave()
  const left = await answer
  assert.instance(left, ReaderLeftError, String(left))
  assert.is(silent.stats().bodies, 0)
})

test.run()
