/** @module Audit queries in short, over a test ledger that keeps the auditors' index. */
import type { JsonObject } from '../../schemas/json.ts'
import type { AuditQueryName } from '../../src/ledger/audit/audit-queries.ts'
import type {
  AuditPage,
  AuditPageRequest,
  AuditQuestion,
  AuditReads,
  AuditRefusal,
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
