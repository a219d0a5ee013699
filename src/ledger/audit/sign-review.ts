/** @module Records that a person has reviewed the answer to an audit query (LIFE-40). */
import { EventQueryParams } from '../../../schemas/event-query.ts'
import type { EventBody } from '../../../schemas/events.ts'
import type { Json } from '../../../schemas/json.ts'
import type { LedgerFacts } from '../identity/ledger-facts.ts'
import type { Effects } from '../ports.ts'
import { AUDIT_QUERIES, type AuditQueryName } from './audit-queries.ts'
import type { AuditReads, AuditRefusal, SignsReviews } from './audit-reads.ts'

interface SignReviewDeps {
  readonly audit: Pick<AuditReads, 'plan'>
  readonly facts: LedgerFacts
  readonly effects: Pick<Effects, 'newId'>
}

export const signsReviews =
  ({ audit, facts, effects }: SignReviewDeps): SignsReviews =>
  async (caller, { query, filters, asOf: treeSize, findings, comment }) => {
    if (!Object.hasOwn(AUDIT_QUERIES, query)) return invalid(`there is no audit query ${query}`)
    const { by, seed, ...rest } = filters ?? {}
    const filter = EventQueryParams.safeParse(rest)
    if (!filter.success)
      return invalid(filter.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '))
    const chosen = { ...(by !== undefined && { by }), ...(seed !== undefined && { seed }) }
    const question = { name: query as AuditQueryName, filter: filter.data, ...chosen }
    const planned = await audit.plan(caller, question, { limit: 1, treeSize })
    if ('code' in planned) return planned
    const { eventId } = planned.asOf
    const [review, last] = [effects.newId(), eventId === null ? {} : { eventId }]
    const data: EventBody<'ReviewSigned'> = {
      ...{ v: 1, review, query, asOf: { treeSize, ...last }, found: findings },
      ...(filters !== undefined && { filters }),
      ...(comment !== undefined && { comment }),
    }
    await facts.record({ tenant: caller.tenant, type: 'ReviewSigned', data: data as unknown as Json, by: caller })
    return { ok: true, value: { review, query, asOf: treeSize, ...last } }
  }

function invalid(detail: string): AuditRefusal {
  return { ok: false, code: 'invalid-query', detail }
}
