/** @module The whole answer to a query of auditors as a signed file. */
import { z } from 'zod'
import { EventQueryParams } from '../../../schemas/event-query.ts'
import { EXPORT } from '../../access/access.ts'
import { ANSWER_FORMAT_NAMES } from '../../export/answer/answer-formats.ts'
import { prepareAnswer } from '../../export/answer/issue-answer.ts'
import { BUNDLE_CONTENT_TYPE, prepareAnswerBundle } from '../../export/bundle/issue-bundle.ts'
import { AUDIT_QUERIES, type AuditQueryName, isOrdered } from '../../ledger/audit/audit-queries.ts'
import type { AuditQuestion } from '../../ledger/audit/audit-reads.ts'
import { problemResponse } from '../answers.ts'
import { problemOfExport } from '../export-problem.ts'
import { openStream } from '../open-stream.ts'
import { Text, Whole } from '../parameters.ts'
import { problem } from '../problems.ts'
import { type Ask, type GuardedRoute, readRoute } from '../route.ts'

const BUNDLE = 'bundle'

/** Which of them a query takes, it says itself. */
const AnswerParams = z.strictObject({
  ...EventQueryParams.shape,
  by: Text.optional(),
  seed: Text.optional(),
  order: z.enum(['asc', 'desc'], 'takes asc or desc').optional(),
  /** Size of the log. */
  asOf: Whole.optional(),
  format: z.enum([...ANSWER_FORMAT_NAMES, BUNDLE]).optional(),
})

export const answerRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/answers/{query}',
    summary:
      'All rows of an answer to an auditors’ query, as jsonl or csv under a trailer that the key of the log signs, or as a bundle that proves them',
    tag: 'audit',
    access: EXPORT,
    query: AnswerParams,
    produces: 'application/x-ndjson',
    handle: answered,
  }),
]

async function answered(ask: Ask<z.output<typeof AnswerParams>>): Promise<Response> {
  const { edge, caller, item, path } = ask
  const { by, seed, order, asOf, format = 'jsonl', ...filter } = ask.query
  if (!isQueryName(item)) return problemResponse(noSuchQuery, path)
  if (order !== undefined && !isOrdered(AUDIT_QUERIES[item].shape)) return problemResponse(noOrder, path)
  const question = { name: item, filter, ...(by !== undefined && { by }), ...(seed !== undefined && { seed }) }
  if (format === BUNDLE) return (asOf ?? order) === undefined ? bundled(ask, question) : problemResponse(ofNow, path)
  const wanted = { format, question, newestFirst: order === 'desc', treeSize: asOf }
  const prepared = await prepareAnswer(edge.ledger, caller, wanted, edge.readers)
  if (!prepared.ok) return problemResponse(problemOfExport(prepared), path)
  const { format: form, start, chunks } = prepared.value
  return openStream(ask, {
    kind: 'export',
    contentType: form.contentType,
    headers: { 'content-disposition': `attachment; filename="${caller.tenant}-${item}.${form.extension}"` },
    before: start,
    chunks,
  })
}

async function bundled(ask: Ask, question: AuditQuestion): Promise<Response> {
  const { edge, caller, path } = ask
  const prepared = await prepareAnswerBundle(edge.ledger, caller, question, edge.readers)
  if (!prepared.ok) return problemResponse(problemOfExport(prepared), path)
  const { start, chunks } = prepared.value
  return openStream(ask, {
    kind: 'bundle',
    contentType: BUNDLE_CONTENT_TYPE,
    headers: { 'content-disposition': `attachment; filename="${caller.tenant}-${question.name}.tar"` },
    before: start,
    chunks,
  })
}

function isQueryName(name: string): name is AuditQueryName {
  return Object.hasOwn(AUDIT_QUERIES, name)
}

const noSuchQuery = problem('not-found', `there is no such query; there are ${Object.keys(AUDIT_QUERIES).join(', ')}`)
const noOrder = problem('invalid-query', 'this query lists groups, not events: it takes no order')
const ofNow = problem(
  'invalid-query',
  'a bundle is as of the checkpoint that it brings, and in one order: it takes no asOf and no order',
)
