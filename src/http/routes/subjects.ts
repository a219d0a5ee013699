/** @module Subjects: where the data of a person are kept, and their erasure. */
import { ErasureAnswer, SubjectAnswer } from '../../../schemas/answers/subjects.ts'
import { EraseSubject } from '../../../schemas/erasure.ts'
import type { Json } from '../../../schemas/json.ts'
import { ERASE_SUBJECTS } from '../../access/access.ts'
import { json, problemResponse } from '../answers.ts'
import { checkBody, readJson } from '../body.ts'
import { NoQuery } from '../parameters.ts'
import { type GuardedRoute, type RequestContext, readRoute } from '../route.ts'
import { withSlot } from '../with-slot.ts'

const tag = 'subjects'

export const subjectRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/subjects/{subject}',
    summary: 'Where something of a subject is kept encrypted: keys, runs, events, places',
    tag,
    access: ERASE_SUBJECTS,
    query: NoQuery,
    answer: SubjectAnswer,
    handle: async (context) => {
      const { deps, caller, item, path } = context
      const found = await withSlot(context, () => deps.ledger.subjects.places(caller, item))
      if (found instanceof Response) return found
      return found.ok ? json(200, found.value as unknown as Json) : problemResponse(found.refusal, path)
    },
  }),
  {
    ...readRoute({
      path: '/v1/subjects/{subject}/erase',
      summary: 'Forget a subject: its keys are destroyed, and nothing that was encrypted under them can be read again',
      tag,
      access: ERASE_SUBJECTS,
      query: NoQuery,
      body: EraseSubject,
      answer: ErasureAnswer,
      answers: { 202: 'Recorded; it waits for the end of the open runs that are named.' },
      handle: erased,
    }),
    method: 'post',
  },
]

async function erased(context: RequestContext): Promise<Response> {
  const { deps, caller, item, path } = context
  const read = await readJson(context, { maxBytes: deps.settings.bodyMaxBytes })
  const body = read.ok ? checkBody(EraseSubject, read.value) : read
  if (!body.ok) return problemResponse(body.problem, path)
  const found = await deps.ledger.subjects.erase(caller, item, body.value)
  if (!found.ok) return problemResponse(found.refusal, path)
  return json(found.value.status === 'waiting' ? 202 : 200, found.value as unknown as Json)
}
