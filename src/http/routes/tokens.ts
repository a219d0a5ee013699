/** @module Access tokens that are refused before they expire (HTTP-82, HTTP-83). */
import { RevokedTokenAnswer, RevokedTokensAnswer } from '../../../schemas/answers/tokens.ts'
import type { Json } from '../../../schemas/json.ts'
import { RevokeToken } from '../../../schemas/token.ts'
import { READ_REVOKED_TOKENS, REVOKE_TOKENS } from '../../access/access.ts'
import type { Answered } from '../../ledger/subjects/subjects.ts'
import { json, problemResponse } from '../answers.ts'
import { checkBody, readJson } from '../body.ts'
import { NoQuery } from '../parameters.ts'
import { type GuardedRoute, type RequestContext, readRoute } from '../route.ts'
import { withSlot } from '../with-slot.ts'

const tag = 'system'

export const tokenRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/tokens/revoked',
    summary: 'Access tokens of the tenant that were revoked',
    tag,
    access: READ_REVOKED_TOKENS,
    query: NoQuery,
    answer: RevokedTokensAnswer,
    handle: async (context) => {
      const found = await withSlot(context, () => context.deps.ledger.tokens.list(context.caller))
      return found instanceof Response ? found : answered(context, found)
    },
  }),
  {
    ...readRoute({
      path: '/v1/tokens/revoke',
      summary: 'Revoke an access token by its id: no process accepts it from then on',
      tag,
      access: REVOKE_TOKENS,
      query: NoQuery,
      body: RevokeToken,
      answer: RevokedTokenAnswer,
      handle: revoked,
    }),
    method: 'post',
  },
]

async function revoked(context: RequestContext): Promise<Response> {
  const { deps, caller, path } = context
  const read = await readJson(context, { maxBytes: deps.settings.bodyMaxBytes })
  const body = read.ok ? checkBody(RevokeToken, read.value) : read
  if (!body.ok) return problemResponse(body.problem, path)
  return answered(context, await deps.ledger.tokens.revoke(caller, body.value))
}

function answered({ path }: RequestContext, found: Answered<object>): Response {
  return found.ok ? json(200, found.value as unknown as Json) : problemResponse(found.refusal, path)
}
