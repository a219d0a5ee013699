/** @module Audit queries in short, over a test ledger that keeps the auditors' index. */
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import type { AuditQueryName } from '../../src/ledger/audit/audit-queries.ts'
import type {
  AuditPage,
  AuditPageRequest,
  AuditQuestion,
  AuditReads,
  AuditRefusal,
  RunsAsOfRequest,
} from '../../src/ledger/audit/audit-reads.ts'
import type { Caller, Ledger } from '../../src/ledger/ledger.ts'
import { alice } from './test-ledger.ts'

export function auditOf({ audit }: Ledger): AuditReads {
  if (audit === undefined) throw new Error('this test ledger keeps no index')
  return audit
}

type Extra = Partial<Omit<AuditQuestion, 'name' | 'filter'>> & { readonly caller?: Caller }

export async function readPage(
  ledger: Ledger,
  name: AuditQueryName,
  {
    filter = {},
    page = {},
    caller = alice,
    ...more
  }: Extra & { filter?: AuditQuestion['filter']; page?: Partial<AuditPageRequest> } = {},
): Promise<AuditPage | AuditRefusal> {
  return auditOf(ledger).ask(caller, { name, filter, ...more }, { limit: 500, ...page })
}

/** Every row of a query, page by page under one pin. */
export async function askAll(
  ledger: Ledger,
  name: AuditQueryName,
  options: Extra & { filter?: AuditQuestion['filter']; page?: Partial<AuditPageRequest> } = {},
): Promise<readonly JsonObject[]> {
  const items: JsonObject[] = []
  for (let page = options.page ?? {}; ; ) {
    const answer = await readPage(ledger, name, { ...options, page })
    if (!answer.ok) throw new Error(`${answer.code}: ${answer.detail}`)
    items.push(...answer.items)
    if (answer.next === undefined) return items
    page = { ...page, after: answer.next, treeSize: answer.asOf.treeSize, eventId: answer.asOf.eventId ?? '' }
  }
}

type AnswerAsOf = { readonly ok: true } | AuditRefusal

/** Of a ledger with one run `r` of tenant `acme`: what must be refused to whoever asks for a page as of a size of the log. */
export async function assertRefusesPagesAsOf(
  ask: (caller: Caller, page: RunsAsOfRequest) => Promise<AnswerAsOf>,
): Promise<void> {
  const code = async (caller: Partial<Caller>, page: Partial<RunsAsOfRequest>): Promise<string> => {
    const found = await ask({ ...alice, ...caller }, { treeSize: 1, limit: 5, ...page })
    return found.ok ? 'ok' : found.code
  }
  assert.is(await code({}, {}), 'ok')
  assert.is(await code({}, { treeSize: 1_000_000 }), 'invalid-query')
  assert.is(await code({}, { eventId: crypto.randomUUID() }), 'cursor-gone')
  assert.is(await code({ agent: 'ann' }, {}), 'agent-mismatch')
  assert.is(await code({ run: 'r' }, {}), 'run-mismatch')
  assert.is(await code({ tenant: 'other' }, {}), 'invalid-query')
}
