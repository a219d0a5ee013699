/** @module `countersign token revoke JTI`: no process on the store accepts that token from then on (HTTP-82). */
import { TokenId } from '../../schemas/token.ts'
import type { Arguments } from './arguments.ts'
import { EXIT, usageFailure } from './failure.ts'
import { printObject } from './print-object.ts'
import { openWritingApi } from './writing-api.ts'

/** Three parts with dots between them: somebody gave the token itself, which must not end up on record. */
const WHOLE_TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/

export async function revokeToken(args: Arguments): Promise<number> {
  const [token = ''] = args.positionals
  if (!TokenId.safeParse(token).success) throw usageFailure(`"${token}" is no id of a token`)
  if (WHOLE_TOKEN.test(token))
    throw usageFailure('that is a token, not its id: name its "jti", as "countersign audit tokens" lists it')
  const reason = args.text('reason')
  await using api = await openWritingApi(args, { scopes: ['admin'] })
  const answer = await api.post('/v1/tokens/revoke', { token, ...(reason !== undefined && { reason }) })
  printObject(answer, args.has('json'))
  return EXIT.ok
}
