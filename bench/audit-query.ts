/** @module What auditors wait for: the index rebuilt, a walk through a query's pages, a search, a count; each over plain reading of the same rows. */
import type { JsonObject } from '../schemas/json.ts'
import { auditOfStore } from '../src/ledger/audit/audit-of-store.ts'
import type { AuditQuestion } from '../src/ledger/audit/audit-reads.ts'
import type { UnrecordedReads } from '../src/ledger/audit/audit-service.ts'
import { openSqliteAudit } from '../src/store/sqlite/sqlite-audit.ts'
import { openSqliteReader } from '../src/store/sqlite/sqlite-reader.ts'
import type { Bench, BenchGroup } from './bench.ts'
import { CALLER, openLocalLedger, postEnvelopes, startRun, storeFile } from './local-ledger.ts'
import type { BenchOptions } from './options.ts'
import { iterateRaw } from './raw-sqlite.ts'
import { type RatioSpec, ratioRow } from './report.ts'
import { Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

const RUNS = 10
const ENVELOPES_A_RUN = 1_000
const PAGE_ITEMS = 500

const SPECS: readonly RatioSpec[] = [
  spec('audit index', "the auditors' index made anew, words and all ÷ plain iterate", 'index'),
  spec('audit pages', 'every event of a query, page by page, read and its seal checked ÷ plain iterate', 'pages'),
  spec('audit search', 'events that a search looks through ÷ plain iterate', 'search'),
  spec('audit runs', 'events that the population of runs is counted from ÷ plain iterate', 'runs'),
]

export const auditQuery: BenchGroup = { name: 'audit queries', ids: SPECS.map(({ id }) => id), open }

function spec(id: string, what: string, over: string): RatioSpec {
  return { id, what, unit: 'events/s', over: [over, 'iterate'] }
}

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const data = folder.at('data')
  await using local = await openLocalLedger(data)
  for (let run = 0; run < RUNS; run += 1) {
    await startRun(local.ledger, `r${run}`)
    await postEnvelopes(local.ledger, `r${run}`, ENVELOPES_A_RUN)
  }
  const samples = new Samples()
  return {
    round: async () => {
      const { events, seconds } = iterateRaw(storeFile(data))
      samples.add('iterate', events / seconds)
      await measured(data, samples)
    },
    rows: () => SPECS.map((each) => ratioRow(samples, each)),
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  }
}

async function measured(data: string, samples: Samples): Promise<void> {
  using store = openSqliteReader({ path: storeFile(data) })
  using index = openSqliteAudit({ path: ':memory:' })
  const audit = auditOfStore({ store, index })
  const startedMs = performance.now()
  const { treeSize } = await audit.asOf(CALLER)
  const rate = (sinceMs: number): number => (treeSize * 1_000) / (performance.now() - sinceMs)
  samples.add('index', rate(startedMs))
  for (const [name, question] of Object.entries(QUESTIONS)) {
    const askedMs = performance.now()
    const items = await walked(audit, question)
    samples.add(name, rate(askedMs))
    if (items.length === 0) throw new Error(`${name} found nothing`)
  }
}

const QUESTIONS: Readonly<Record<string, AuditQuestion>> = {
  pages: { name: 'events', filter: {} },
  search: { name: 'search', filter: { text: '"500 revenue"' } },
  runs: { name: 'runs', filter: {} },
}

async function walked(audit: UnrecordedReads, question: AuditQuestion): Promise<readonly JsonObject[]> {
  const items: JsonObject[] = []
  for (let after: Parameters<UnrecordedReads['ask']>[2]['after']; ; ) {
    const page = await audit.ask(CALLER, question, { limit: PAGE_ITEMS, ...(after && { after }) })
    if (!page.ok) throw new Error(page.detail)
    items.push(...page.items)
    if (page.next === undefined) return items
    after = page.next
  }
}
