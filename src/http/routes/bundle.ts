/** @module The evidence bundle: a tar that can be verified offline. */

import { z } from 'zod'
import { RunKeysAnswer } from '../../../schemas/answers/history.ts'
import { type EventQuery, EventQueryParams } from '../../../schemas/event-query.ts'
import { DISCLOSE_KEYS, EXPORT } from '../../access/access.ts'
import { BUNDLE_CONTENT_TYPE, prepareBundle } from '../../export/bundle/issue-bundle.ts'
import { json, problemResponse } from '../answers.ts'
import { problemOfExport } from '../export-problem.ts'
import { openStream } from '../open-stream.ts'
import { NoQuery } from '../parameters.ts'
import { type GuardedRoute, type RequestContext, readRoute } from '../route.ts'

const BundleParams = EventQueryParams.extend({
  proof: z
    .enum(['stream', 'log'])
    .optional()
    .describe(
      'what shows that nothing was left out: `stream` (of one run, the default there) a path in the tree of streams that the checkpoint names; `log` the headers of the whole log',
    ),
  values: z
    .enum(['true', 'false'])
    .optional()
    .describe('`true`: bring along the large values that the events name, so that their digests can be checked'),
})

export const bundleRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/bundle',
    summary:
      'The evidence for a run, a query or the whole tenant as one tar: events, log, checkpoint, signed manifest, report, verifier',
    tag: 'history',
    access: EXPORT,
    query: BundleParams,
    produces: BUNDLE_CONTENT_TYPE,
    handle: bundle,
  }),
  {
    ...readRoute({
      path: '/v1/runs/{run}/keys/disclose',
      summary:
        'Give away the keys of a run that has ended; RunKeyDisclosed is recorded first, and nothing may follow it',
      tag: 'history',
      answer: RunKeysAnswer,
      access: DISCLOSE_KEYS,
      query: NoQuery,
      handle: disclosedKeys,
    }),
    method: 'post',
  },
]

/** The answer is the file that `countersign verify --run-key` reads. */
async function disclosedKeys({ deps, caller, run, path }: RequestContext): Promise<Response> {
  const found = await deps.ledger.discloseRunKeys(caller, run)
  return found.ok ? json(200, found.value) : problemResponse(found.refusal, path)
}

async function bundle(context: RequestContext<z.output<typeof BundleParams>>): Promise<Response> {
  const { deps, caller, path } = context
  const { proof, values, ...rest } = context.query
  const query: EventQuery = rest
  const parts = { proof, values: values === 'true' }
  const prepared = await prepareBundle(deps.ledger, caller, query, parts, deps.readers)
  if (!prepared.ok) return problemResponse(problemOfExport(prepared), path)
  const { start, chunks } = prepared.value
  const name = query.run ?? caller.tenant
  return openStream(context, {
    kind: 'bundle',
    contentType: BUNDLE_CONTENT_TYPE,
    headers: { 'content-disposition': `attachment; filename="${name}.tar"` },
    before: start,
    chunks,
  })
}
