/** @module The evidence bundle: a tar that proves itself offline. */
import type { z } from 'zod'
import { type EventQuery, EventQueryParams } from '../../../schemas/event-query.ts'
import { BUNDLE_CONTENT_TYPE, prepareBundle } from '../../export/bundle/issue-bundle.ts'
import { problemResponse } from '../answers.ts'
import { problemOfExport } from '../export-problem.ts'
import { openStream } from '../open-stream.ts'
import { type Ask, type GuardedRoute, readRoute } from '../route.ts'

export const bundleRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/bundle',
    summary:
      'The evidence for a run, a query or the whole tenant as one tar: events, log, checkpoint, signed manifest, report, verifier',
    tag: 'history',
    scopes: ['audit:export'],
    query: EventQueryParams,
    produces: BUNDLE_CONTENT_TYPE,
    handle: bundle,
  }),
]

async function bundle(ask: Ask<z.output<typeof EventQueryParams>>): Promise<Response> {
  const { edge, caller, path } = ask
  const query: EventQuery = ask.query
  const prepared = await prepareBundle(edge.ledger, caller, query)
  if (!prepared.ok) return problemResponse(problemOfExport(prepared), path)
  const { start, chunks } = prepared.value
  const name = query.run ?? caller.tenant
  return openStream(ask, {
    contentType: BUNDLE_CONTENT_TYPE,
    headers: { 'content-disposition': `attachment; filename="${name}.tar"` },
    before: start,
    chunks,
  })
}
