/** @module `countersign suspects list|confirm|reject`. */
import type { ReviewSuspects } from '../../schemas/requests.ts'
import { openApi } from './api.ts'
import { deciding } from './approvals.ts'
import type { Arguments } from './arguments.ts'
import { EXIT, usageFailure } from './failure.ts'
import { limitOf } from './filters.ts'
import { printObject } from './print-object.ts'
import { runIdOf } from './run-id.ts'
import { printRows } from './table.ts'

const COLUMNS = ['runId', 'id', 'path', 'before', 'after', 'agent', 'count']

/** Lists the suspects of one run, or of all open runs of the tenant. */
export async function listSuspects(args: Arguments): Promise<number> {
  const limit = limitOf(args)
  const path = args.positionals.length === 0 ? '/v1/suspects' : `/v1/runs/${runIdOf(args)}/suspects`
  await using api = await openApi(args)
  await printRows(api.items(path, {}, limit), { columns: COLUMNS, json: args.has('json') })
  return api.exitCode()
}

export const confirmSuspects = (args: Arguments): Promise<number> => review(args, 'confirmed')
export const rejectSuspects = (args: Arguments): Promise<number> => review(args, 'rejected')

async function review(args: Arguments, decision: ReviewSuspects['decision']): Promise<number> {
  const run = runIdOf(args)
  const suspects = args.positionals.slice(1)
  const reason = args.text('reason')
  if (reason === undefined) throw usageFailure('--reason is missing: say how you know; it is recorded')
  await using api = await deciding(args)
  printObject(await api.post(`/v1/runs/${run}/suspects`, { suspects, decision, reason }), args.has('json'))
  return EXIT.ok
}
