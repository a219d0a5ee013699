/** @module Handoffs: post, list, read their findings; and the manifests that restrict agents. */
import {
  EnvelopeAnswer,
  EnvelopesAnswer,
  FindingsAnswer,
  JudgementAnswer,
  ManifestAnswer,
  ManifestsAnswer,
} from '../../../schemas/answers/handoffs.ts'
import { PostEnvelope, RecordJudgement, RegisterManifest } from '../../../schemas/requests.ts'
import { READ_PAYLOADS, READ_RUNS, SET_MANIFESTS, WRITE_RUNS } from '../../access/access.ts'
import { foundResponse } from '../answers.ts'
import { commandRoute } from '../command-route.ts'
import { pageRoute } from '../page-route.ts'
import { NoQuery } from '../parameters.ts'
import { type GuardedRoute, readRoute } from '../route.ts'
import { withSlot } from '../with-slot.ts'

const tag = 'envelopes'

export const envelopeRoutes: readonly GuardedRoute[] = [
  commandRoute({
    path: '/v1/runs/{run}/envelopes',
    summary: 'Hand over: 201 and a new context, or 409 with the findings and what was restored',
    tag,
    access: WRITE_RUNS,
    kind: 'envelope',
    answer: EnvelopeAnswer,
    body: PostEnvelope,
    command: (body) => ({ kind: 'envelope', body }),
    location: ({ revision }, runPath) => `${runPath}/context?revision=${revision}`,
  }),
  commandRoute({
    path: '/v1/runs/{run}/judgements',
    summary: 'Record what a judge says of an accepted handoff',
    tag,
    access: WRITE_RUNS,
    kind: 'judgement',
    answer: JudgementAnswer,
    body: RecordJudgement,
    command: (body) => ({ kind: 'judgement', body }),
  }),
  pageRoute({
    access: READ_PAYLOADS,
    path: '/v1/runs/{run}/envelopes',
    summary: 'Envelopes, accepted and rejected, oldest first',
    tag,
    answer: EnvelopesAnswer,
    ofThePast: true,
    read: (ledger, ...request) => ledger.envelopes(...request),
  }),
  pageRoute({
    access: READ_PAYLOADS,
    path: '/v1/runs/{run}/findings',
    summary: 'Findings of rejected envelopes, and warnings of accepted ones',
    tag,
    answer: FindingsAnswer,
    ofThePast: true,
    read: (ledger, ...request) => ledger.findings(...request),
  }),
  commandRoute({
    path: '/v1/runs/{run}/manifests',
    summary: 'Register what an agent may read, write and spend',
    tag,
    access: SET_MANIFESTS,
    kind: 'manifest',
    answer: ManifestAnswer,
    body: RegisterManifest,
    command: (body) => ({ kind: 'manifest', body }),
    location: (_, runPath) => `${runPath}/manifests`,
  }),
  readRoute({
    path: '/v1/runs/{run}/manifests',
    summary: 'Manifests in force',
    tag,
    answer: ManifestsAnswer,
    access: READ_RUNS,
    query: NoQuery,
    handle: async (context) => {
      const { deps, caller, run, path } = context
      const found = await withSlot(context, () => deps.ledger.manifests(caller, run))
      return found instanceof Response ? found : foundResponse(found, path)
    },
  }),
]
