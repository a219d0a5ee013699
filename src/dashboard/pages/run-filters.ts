/** @module The filters of the run list: as the address holds them, as the ledger takes them. */
import { z } from 'zod'
import { ROLLBACK_VERDICTS, RUN_STATUSES } from '../../../schemas/run-status.ts'
import type { RunListFilter } from '../../ledger/ledger.ts'

const TEXT_MAX_CHARS = 256
const Text = z.string().max(TEXT_MAX_CHARS)

/** A day, or a time to the minute or finer; without a zone it is UTC. */
export const When = z
  .string()
  .regex(
    /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/,
    'give a time such as 2026-01-31 or 2026-01-31T12:00',
  )
  .transform(instantOf)
  .refine((time) => time !== '', 'there is no such time')

const True = z.literal('true', 'takes true')

export const RunQuery = z.object({
  status: z.enum(RUN_STATUSES, 'a status is open, completed, failed or compensated').optional(),
  compensation: z.enum(ROLLBACK_VERDICTS, `a rollback ends ${ROLLBACK_VERDICTS.join(', ')}`).optional(),
  inDoubt: True.optional(),
  overdue: True.optional(),
  name: Text.optional(),
  tag: Text.optional(),
  agent: Text.optional(),
  since: When.optional(),
  until: When.optional(),
  refused: True.optional(),
  waiting: True.optional(),
  after: z
    .string()
    .regex(/^[0-9TZ:.-]{24}~[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/, 'this is no place in the list')
    .optional(),
})

export type RunQuery = z.output<typeof RunQuery>

function instantOf(text: string): string {
  const zoned = text.length === 10 ? `${text}T00:00Z` : /(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`
  const time = Date.parse(zoned)
  return Number.isNaN(time) ? '' : new Date(time).toISOString()
}

export function filterOf(query: RunQuery, limit: number): RunListFilter {
  const { after, refused, inDoubt, overdue, waiting, ...texts } = query
  const [startedAt = '', runId = ''] = after?.split('~') ?? []
  const params = Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined))
  return {
    ...params,
    ...(refused === undefined ? {} : { refused: true }),
    ...(inDoubt === undefined ? {} : { inDoubt: true }),
    ...(overdue === undefined ? {} : { overdue: true }),
    ...(waiting === undefined ? {} : { waiting: true }),
    ...(after === undefined ? {} : { after: { startedAt, runId } }),
    limit,
  }
}

/** The same filters in an address. */
export function queryOf({ after: _, ...filters }: RunQuery): Readonly<Record<string, string | undefined>> {
  return filters
}
