/** @module Events that fail verification, and the progress of the scrub. */
import { IntegrityAnswer } from '../../../schemas/answers/history.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { READ_TENANT_RECORDED_BEHIND } from '../../access/access.ts'
import { json } from '../answers.ts'
import { NoQuery } from '../parameters.ts'
import { type GuardedRoute, readRoute } from '../route.ts'

export const integrityRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/integrity',
    summary: 'Events recorded as broken, and the last whole pass of the scrub',
    tag: 'history',
    answer: IntegrityAnswer,
    access: READ_TENANT_RECORDED_BEHIND,
    query: NoQuery,
    handle: async ({ deps, caller }) => {
      await deps.ledger.integrity.reached()
      const { faults, acknowledged, scrub } = deps.ledger.integrity.state(caller)
      return json(200, {
        items: faults.map((fault) => ({ ...fault })),
        ...(acknowledged.length > 0 && { acknowledged: acknowledged.map((each) => ({ ...each })) }),
        scrub: { ...scrub } as JsonObject,
      })
    },
  }),
]
