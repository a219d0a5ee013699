/** @module Queries of the auditors' index for a page, and the refusal if there is no index. */

import { type Json, parseJson } from '../../../schemas/json.ts'
import type { AuditPage, AuditPageRequest, AuditQuestion, AuditReads } from '../../ledger/audit/audit-reads.ts'
import { Refused, type View } from '../page.ts'

export function auditOf({ deps }: Pick<View, 'deps'>): AuditReads {
  const { audit } = deps.ledger
  if (audit !== undefined) return audit
  throw new Refused({ code: 'not-found', detail: 'This ledger keeps no index for auditors.' })
}

/** Each answer is recorded before it is sent. */
export async function queryAudit(
  view: Pick<View, 'deps' | 'caller'>,
  question: AuditQuestion,
  page: AuditPageRequest,
): Promise<AuditPage> {
  const found = await auditOf(view).ask(view.caller, question, page)
  if (found.ok) return found
  throw new Refused({ code: found.code, detail: found.detail })
}

/** Parses the cursor of a listing: the log that it is pinned to, and the place in it. Undefined for an invalid cursor. */
export function placeOf(
  text: string | undefined,
): Pick<AuditPageRequest, 'after' | 'treeSize' | 'eventId'> | undefined {
  if (text === undefined) return {}
  try {
    const place: unknown = parseJson(Buffer.from(text, 'base64url').toString())
    if (!Array.isArray(place)) return undefined
    const [treeSize, eventId, ...after] = place as unknown[]
    const scalars = after.every((value) => typeof value === 'string' || typeof value === 'number')
    if (typeof treeSize !== 'number' || !Number.isSafeInteger(treeSize) || typeof eventId !== 'string') return undefined
    return scalars && after.length > 0 ? { treeSize, eventId, after: after as Json[] } : undefined
  } catch {
    return undefined
  }
}

export function placeText({ asOf, next }: AuditPage): string | undefined {
  if (next === undefined || asOf.eventId === null) return undefined
  return Buffer.from(JSON.stringify([asOf.treeSize, asOf.eventId, ...next])).toString('base64url')
}
