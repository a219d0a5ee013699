/** @module `countersign reviews sign|list`: sign-offs of what was read of the record. */
import { AUDIT_QUERIES } from '../ledger/audit/audit-queries.ts'
import { openApi } from './api.ts'
import type { Arguments } from './arguments.ts'
import { EXIT, usageFailure } from './failure.ts'
import { limitOf } from './filters.ts'
import { printObject } from './print-object.ts'
import { printRows } from './table.ts'
import { openWritingApi } from './writing-api.ts'

export async function listReviews(args: Arguments): Promise<number> {
  const limit = limitOf(args)
  await using api = await openApi(args)
  const { columns } = AUDIT_QUERIES.reviews
  await printRows(api.items('/v1/audit/reviews', {}, limit), { columns, json: args.has('json') })
  return api.exitCode()
}

export async function signReview(args: Arguments): Promise<number> {
  const { text, has, positionals } = args
  const [asOf, findings, as, comment] = [text('as-of') ?? '', text('findings'), text('as'), text('comment')]
  if (!/^\d{1,15}$/.test(asOf))
    throw usageFailure('--as-of is missing: the size of the log that was reviewed, in events')
  if (findings === undefined || findings === '') throw usageFailure('--findings is missing: say what the review found')
  const given = text('filters')
  const filters = given === undefined ? undefined : Object.fromEntries(new URLSearchParams(given))
  const isRemote = text('url') !== undefined
  if (!isRemote && (as === undefined || as === ''))
    throw usageFailure('--as is missing: a review is signed by a person, by name')
  await using api = await openWritingApi(args, { subject: as ?? '', scopes: ['audit:read'] })
  const body = { query: positionals[0] ?? '', asOf: Number(asOf), findings }
  printObject(
    await api.post('/v1/reviews', { ...body, ...(filters && { filters }), ...(comment && { comment }) }),
    has('json'),
  )
  return EXIT.ok
}
