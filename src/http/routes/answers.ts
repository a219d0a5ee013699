/** @module Routes that export the complete answer of an audit query as a signed file. */
import { z } from 'zod'
import { EventQueryParams } from '../../../schemas/event-query.ts'
import { EXPORT } from '../../access/access.ts'
import { ANSWER_FORMAT_NAMES } from '../../export/answer/answer-formats.ts'
import { type PreparedAnswer, prepareAnswer } from '../../export/answer/issue-answer.ts'
import { prepareServiceAnswer } from '../../export/answer/issue-service-answer.ts'
import { BUNDLE_CONTENT_TYPE, prepareAnswerBundle } from '../../export/bundle/issue-bundle.ts'
import { AUDIT_QUERIES, type AuditQueryName, isOrdered } from '../../ledger/audit/audit-queries.ts'
import { SERVICE_QUERIES, type ServiceQueryName } from '../../ledger/audit/service-queries.ts'
import { problemResponse } from '../answers.ts'
import { problemOfExport } from '../export-problem.ts'
import { openStream } from '../open-stream.ts'
import { Text, Whole } from '../parameters.ts'
import { problem } from '../problems.ts'
import { type GuardedRoute, type RequestContext, readRoute } from '../route.ts'

const BUNDLE = 'bundle'

/** Union of all parameters; each query checks which of them it accepts. */
const AnswerParams = z.strictObject({
  ...EventQueryParams.shape,
  by: Text.optional(),
  seed: Text.optional(),
  order: z.enum(['asc', 'desc'], 'takes asc or desc').optional(),
  /** Size of the log, in events. */
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

async function answered(context: RequestContext<z.output<typeof AnswerParams>>): Promise<Response> {
  const { deps, caller, item, path } = context
  const { by, seed, order, asOf, format = 'jsonl', ...filter } = context.query
  if (isServiceQuery(item)) return ofService(context, item)
  if (!isQueryName(item)) return problemResponse(noSuchQuery, path)
  if (order !== undefined && !isOrdered(AUDIT_QUERIES[item].shape)) return problemResponse(noOrder, path)
  const question = { name: item, filter, ...(by !== undefined && { by }), ...(seed !== undefined && { seed }) }
  if (format === BUNDLE)
    return order === undefined ? bundled(context, { ...question, treeSize: asOf }) : problemResponse(inOrder, path)
  const answerRequest = { format, question, newestFirst: order === 'desc', treeSize: asOf }
  const prepared = await prepareAnswer(deps.ledger, caller, answerRequest, deps.readers)
  if (!prepared.ok) return problemResponse(problemOfExport(prepared), path)
  return fileOf(context, prepared.value, item)
}

/** Answers a query on the ledger's own record: it takes only filters on headers, and has one order. */
async function ofService(
  context: RequestContext<z.output<typeof AnswerParams>>,
  name: ServiceQueryName,
): Promise<Response> {
  const { deps, caller, path } = context
  const { format = 'jsonl', ...filter } = context.query
  if (format === BUNDLE) return problemResponse(notInLog, path)
  const takes: readonly string[] = SERVICE_QUERIES[name].filters
  const stranger = Object.keys(filter).find((member) => !takes.includes(member))
  if (stranger !== undefined)
    return problemResponse(
      problem('invalid-query', `the query ${name} takes no ${stranger}; it takes ${takes.join(', ')}`),
      path,
    )
  const prepared = await prepareServiceAnswer(deps.ledger, caller, { format, name, filter })
  return prepared.ok ? fileOf(context, prepared.value, name) : problemResponse(problemOfExport(prepared), path)
}

function fileOf(
  context: RequestContext,
  { format, heldBytes, start, chunks }: PreparedAnswer,
  name: string,
): Promise<Response> {
  return openStream(context, {
    kind: 'export',
    heldBytes,
    contentType: format.contentType,
    headers: { 'content-disposition': `attachment; filename="${context.caller.tenant}-${name}.${format.extension}"` },
    before: start,
    chunks,
  })
}

async function bundled(
  context: RequestContext,
  question: Parameters<typeof prepareAnswerBundle>[2],
): Promise<Response> {
  const { deps, caller, path } = context
  const prepared = await prepareAnswerBundle(deps.ledger, caller, question, deps.readers)
  if (!prepared.ok) return problemResponse(problemOfExport(prepared), path)
  const { heldBytes, start, chunks } = prepared.value
  return openStream(context, {
    kind: 'bundle',
    heldBytes,
    contentType: BUNDLE_CONTENT_TYPE,
    headers: { 'content-disposition': `attachment; filename="${caller.tenant}-${question.name}.tar"` },
    before: start,
    chunks,
  })
}

function isServiceQuery(name: string): name is ServiceQueryName {
  return Object.hasOwn(SERVICE_QUERIES, name)
}

function isQueryName(name: string): name is AuditQueryName {
  return Object.hasOwn(AUDIT_QUERIES, name)
}

const QUERIES = [...Object.keys(AUDIT_QUERIES), ...Object.keys(SERVICE_QUERIES)]
const noSuchQuery = problem('not-found', `there is no such query; there are ${QUERIES.join(', ')}`)
const noOrder = problem('invalid-query', 'this query lists groups, not events: it takes no order')
const notInLog = problem(
  'invalid-query',
  "this answer is out of the ledger's own record, which no bundle of a tenant holds: it goes as jsonl or csv",
)
const inOrder = problem('invalid-query', 'a bundle has its rows in one order: it takes no order')
