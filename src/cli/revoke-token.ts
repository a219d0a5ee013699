/** @module `countersign token revoke JTI`: no process on the store accepts that token from then on (HTTP-82); `token revoked` lists those tokens. */
import { TokenId } from '../../schemas/token.ts'
import { isNotedToken } from '../compose/issued-tokens.ts'
import { openApi } from './api.ts'
import type { Arguments } from './arguments.ts'
import { EXIT, usageFailure } from './failure.ts'
import { each } from './losses.ts'
import { printObject } from './print-object.ts'
import { printRows } from './table.ts'
import { openWritingApi } from './writing-api.ts'

/** Three parts with dots between them: the token itself was given, which must not be recorded. */
const WHOLE_TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/

export async function revokeToken(args: Arguments): Promise<number> {
  const [token = ''] = args.positionals
  if (!TokenId.safeParse(token).success) throw usageFailure(`"${token}" is no id of a token`)
  if (WHOLE_TOKEN.test(token))
    throw usageFailure('that is a token, not its id: name its "jti", as "countersign audit tokens" lists it')
  const reason = args.text('reason')
  await using api = await openWritingApi(args, { scopes: ['admin'] })
  const answer = await api.post('/v1/tokens/revoke', { token, ...(reason !== undefined && { reason }) })
  // Of the data folder at hand: a token that no ledger has recorded yet.
  const isKnown = answer.known === true || (args.text('url') === undefined && isNotedToken(args.settings.data, token))
  printObject({ ...answer, known: isKnown }, args.has('json'))
  if (!isKnown) process.stderr.write(`countersign: ${UNKNOWN}\n`)
  return EXIT.ok
}

const UNKNOWN =
  'revoked, but no token with this id is recorded as issued by "countersign token" for this tenant: it is of another issuer, or the id is mistyped ("countersign audit tokens" lists them)'

const COLUMNS = ['token', 'revokedAt', 'revokedBy', 'reason']

export async function listRevoked(args: Arguments): Promise<number> {
  await using api = await openApi(args)
  const { items, count } = await api.get('/v1/tokens/revoked')
  await printRows(each(items), { columns: COLUMNS, json: args.has('json') })
  const listed = Array.isArray(items) ? items.length : 0
  if (Number(count) > listed) process.stderr.write(`countersign: the last ${listed} of ${String(count)} are listed\n`)
  return api.exitCode()
}
