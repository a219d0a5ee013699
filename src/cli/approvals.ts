/** @module `countersign approvals list|grant|deny`. */
import { RunId } from '../../schemas/names.ts'
import { openLedger } from '../compose.ts'
import { silentLog } from '../ledger/effects.ts'
import { type Api, apiOver, applicationOver, openApi } from './api.ts'
import type { Arguments } from './arguments.ts'
import { EXIT, usageFailure } from './failure.ts'
import { limitOf } from './filters.ts'
import { printObject } from './print-object.ts'
import { printRows } from './table.ts'
import { nameOf, rolesOf } from './token.ts'

const COLUMNS = ['runId', 'approvalId', 'tool', 'args', 'requestedAt', 'expiresAt', 'argsDigest']

export async function listApprovals(args: Arguments): Promise<number> {
  const limit = limitOf(args)
  await using api = await openApi(args)
  await printRows(api.items('/v1/approvals', {}, limit), { columns: COLUMNS, json: args.has('json') })
  return EXIT.ok
}

export const grantApproval = (args: Arguments): Promise<number> => decide(args, 'grant')
export const denyApproval = (args: Arguments): Promise<number> => decide(args, 'deny')

async function decide(args: Arguments, how: 'grant' | 'deny'): Promise<number> {
  const [runText, approval = ''] = args.positionals
  const run = RunId.safeParse(runText)
  if (!run.success) throw usageFailure(`"${runText}" is no run id: ${run.error.issues[0]?.message}`)
  const path = `/v1/runs/${run.data}/approvals/${encodeURIComponent(approval)}`
  const comment = args.text('comment')
  await using api = await deciding(args)
  const argsDigest = args.text('digest') ?? (await api.get(path)).argsDigest ?? ''
  const body = { argsDigest, ...(comment !== undefined && { comment }) }
  printObject(await api.post(`${path}/${how}`, body), args.has('json'))
  return EXIT.ok
}

/** Over the store itself this command owns the ledger meanwhile; where another process does, its address is said. */
async function deciding(args: Arguments): Promise<Api> {
  if (args.text('url') !== undefined) {
    if (args.text('as') !== undefined) throw usageFailure('--as: over --url whoever decides is the one of the token')
    return openApi(args)
  }
  const subject = nameOf('as', args.text('as'))
  if (subject === undefined) throw usageFailure('--as is missing: a decision stands on record with a name')
  const opened = await openLedger(args.settings, silentLog)
  const keys = opened.keys.current()
  const caller = { subject, scopes: ['approvals:write'], roles: rolesOf(args.text('role')) }
  const { token, fetch } = await applicationOver(
    { ledger: opened.ledger, keys },
    args.text('tenant') ?? 'default',
    caller,
  )
  return apiOver({ url: 'http://localhost', token, fetch, retries: 0 }, async () => {
    await opened[Symbol.asyncDispose]()
  })
}
