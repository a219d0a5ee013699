/**
 * @module The answers to `service` and `tokens` as files (LOG-35): from the ledger's own records, newest first, as of the time when the first page was read,
 * signed with the key of the tenant's log like any other answer.
 */
import type { JsonObject } from '../../../schemas/json.ts'
import { ofWholeTenant } from '../../access/check-access.ts'
import type { ServiceFilter, ServiceQueryName } from '../../ledger/audit/service-queries.ts'
import type { Caller, Ledger } from '../../ledger/ledger.ts'
import type { ServicePage, ServicePlace } from '../../ledger/service.ts'
import { portionsOf } from '../export-body.ts'
import { refusedBy } from '../export-refusal.ts'
import { answerWriter, rowPortions } from './answer-body.ts'
import type { AnswerFormatName } from './answer-formats.ts'
import { type AnswerPrepared, preparedAnswer } from './issue-answer.ts'

const PAGE_ROWS = 500

export interface ServiceAnswerRequest {
  readonly format: AnswerFormatName
  readonly name: ServiceQueryName
  readonly filter: ServiceFilter
}

export async function prepareServiceAnswer(
  ledger: Ledger,
  caller: Caller,
  { format, name, filter }: ServiceAnswerRequest,
): Promise<AnswerPrepared> {
  if (ledger.logs === undefined || ledger.audit === undefined)
    return { ok: false, code: 'not-found', detail: 'an answer needs the index of the audit and the log to sign it' }
  // Records of the whole tenant are not available to tokens that are bound to a run or agent.
  const outside = ofWholeTenant(caller)
  if (outside !== undefined) return refusedBy(outside)
  const { audit, service } = ledger
  const { tree, losses } = await ledger.exports.pin(caller, { isSigned: true })
  if (tree === null) return { ok: false, code: 'not-found', detail: 'an answer needs a log to sign it' }
  const question = { query: name, filter }
  const read = (place: ServicePlace): Promise<ServicePage> =>
    name === 'service' ? service.history(place) : service.tokens(caller.tenant, place)
  const filters = Object.fromEntries(Object.entries(filter).map(([member, value]) => [member, String(value)]))
  return preparedAnswer({
    ...{ ledger, caller, format, question, tree, restsOn: 'ledger-record', losses },
    body: () => portionsOf(rowPortions(answerWriter(format, question), pagesOf(read, filter))),
    recordPage: (rows) => audit.record(caller, { query: `audit/${name}`, filters, count: rows }),
  })
}

async function* pagesOf(
  read: (place: ServicePlace) => Promise<ServicePage>,
  filter: ServiceFilter,
): AsyncGenerator<readonly JsonObject[], void> {
  for (let from: number | undefined; ; ) {
    const { items, next }: ServicePage = await read({ limit: PAGE_ROWS, filter, from })
    yield items
    if (next === undefined) return
    from = next
  }
}
