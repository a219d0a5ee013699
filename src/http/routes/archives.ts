/** @module The recorded archives of a tenant (LIFE-57). */
import { ArchivesAnswer } from '../../../schemas/answers/archives.ts'
import type { Json } from '../../../schemas/json.ts'
import { READ_TENANT } from '../../access/access.ts'
import { json, problemResponse } from '../answers.ts'
import { NoQuery } from '../parameters.ts'
import { type GuardedRoute, readRoute } from '../route.ts'
import { withSlot } from '../with-slot.ts'

export const archiveRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/archives',
    summary: 'Archives of runs that have ended: which files, with what digests, when and by whom',
    tag: 'history',
    access: READ_TENANT,
    query: NoQuery,
    answer: ArchivesAnswer,
    handle: async (context) => {
      const { deps, caller, path } = context
      const found = await withSlot(context, () => deps.ledger.archives.list(caller))
      if (found instanceof Response) return found
      if (!found.ok) return problemResponse(found.refusal, path)
      const passes = deps.retention?.of(caller.tenant)
      return json(200, { ...found.value, ...(passes && { passes }) } as unknown as Json)
    },
  }),
]
