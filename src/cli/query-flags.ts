/** @module The members of a query as flags: `--actor`, `--types A,B`, `--since TIME`. */
import { type EventQuery, EventQueryParams } from '../../schemas/event-query.ts'
import type { Arguments } from './arguments.ts'
import { usageFailure } from './failure.ts'
import { flagNameOf } from './flag.ts'

const QUERY_FLAGS: readonly string[] = Object.keys(EventQueryParams.shape)

/** Throws `CliFailure` with exit code 2, naming the invalid flag. */
export function queryOf({ text }: Pick<Arguments, 'text'>): EventQuery {
  const entries = QUERY_FLAGS.flatMap((name) => {
    const value = text(flagNameOf(name))
    return value === undefined ? [] : [[name, value] as const]
  })
  const query = EventQueryParams.safeParse(Object.fromEntries(entries))
  if (query.success) return query.data
  const issue = query.error.issues[0]
  throw usageFailure(`--${flagNameOf(String(issue?.path[0] ?? 'query'))}: ${issue?.message}`)
}

/** The query as URL parameters. */
export function queryParameters({ types, ...query }: EventQuery): URLSearchParams {
  return new URLSearchParams({ ...query, ...(types && { types: types.join(',') }) } as Record<string, string>)
}
