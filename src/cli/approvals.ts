/** @module `countersign approvals list|grant|deny`. */
import { type Api, asOfSize, openApi } from './api.ts'
import type { Arguments } from './arguments.ts'
import { EXIT, usageFailure } from './failure.ts'
import { limitOf } from './filters.ts'
import { nameOf } from './name-flags.ts'
import { printObject } from './print-object.ts'
import { runIdOf } from './run-id.ts'
import { printRows } from './table.ts'
import { rolesOf } from './token.ts'
import { openWritingApi } from './writing-api.ts'

const COLUMNS = ['runId', 'approvalId', 'tool', 'args', 'requestedAt', 'expiresAt', 'argsDigest']

export async function listApprovals(args: Arguments): Promise<number> {
  const limit = limitOf(args)
  const asOf = asOfSize(args)
  await using api = await openApi(args)
  await printRows(api.items('/v1/approvals', { asOf }, limit), { columns: COLUMNS, json: args.has('json') })
  return api.exitCode()
}

export const grantApproval = (args: Arguments): Promise<number> => decide(args, 'grant')
export const denyApproval = (args: Arguments): Promise<number> => decide(args, 'deny')
export const withdrawApproval = (args: Arguments): Promise<number> => decide(args, 'withdraw')

async function decide(args: Arguments, decision: 'grant' | 'deny' | 'withdraw'): Promise<number> {
  const path = `/v1/runs/${runIdOf(args)}/approvals/${encodeURIComponent(args.positionals[1] ?? '')}`
  const comment = args.text('comment')
  await using api = await deciding(args, rolesOf(args.text('role')))
  const argsDigest = args.text('digest') ?? (await api.get(path)).argsDigest ?? ''
  const body = { argsDigest, ...(comment !== undefined && { comment }) }
  printObject(await api.post(`${path}/${decision}`, body), args.has('json'))
  return EXIT.ok
}

/** The API for decisions: as the subject of the token, or of `--as`. */
export function deciding(args: Arguments, roles?: readonly string[]): Promise<Api> {
  if (args.text('url') !== undefined) {
    if (args.text('as') !== undefined) throw usageFailure('--as: over --url the token says who decides')
    return openWritingApi(args)
  }
  const subject = nameOf('as', args.text('as'))
  if (subject === undefined) throw usageFailure('--as is missing: a decision is recorded with a name')
  return openWritingApi(args, { subject, scopes: ['approvals:write'], roles })
}
