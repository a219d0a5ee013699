/** @module The filters of the run list: from the address to the form that the ledger expects. */
import { z } from 'zod'
import { ROLLBACK_VERDICTS, RUN_STATUSES } from '../../../schemas/run-status.ts'
import type { RunListFilter } from '../../ledger/ledger.ts'
import { instantOf, isZone, TIMES_TAKEN } from '../when.ts'

const TEXT_MAX_CHARS = 256
const Text = z.string().max(TEXT_MAX_CHARS)

/** A time as typed: its meaning depends on when and in which zone it is read. */
export const When = Text.refine((text) => instantOf(text, { nowMs: 0, zone: 'UTC' }) !== undefined, TIMES_TAKEN)
export const Zone = z.string().max(64).refine(isZone, 'give a zone such as UTC, Europe/Berlin or +02:00')

const True = z.literal('true', 'takes true')

export const RunQuery = z.object({
  status: z.enum(RUN_STATUSES, 'a status is open, completed, failed or compensated').optional(),
  compensation: z.enum(ROLLBACK_VERDICTS, `a rollback ends ${ROLLBACK_VERDICTS.join(', ')}`).optional(),
  inDoubt: True.optional(),
  overdue: True.optional(),
  contains: Text.optional(),
  name: Text.optional(),
  tag: Text.optional(),
  agent: Text.optional(),
  since: When.optional(),
  until: When.optional(),
  zone: Zone.optional(),
  refused: True.optional(),
  waiting: True.optional(),
  stuck: True.optional(),
  after: z
    .string()
    .regex(/^[0-9TZ:.-]{24}~[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/, 'this is no place in the list')
    .optional(),
  /** Size of the log at the shown moment. */
  asOf: z.string().max(15).optional(),
  /** Cursor of a page of the past: the leaf of a start, and the last event of that log. */
  place: z
    .string()
    .regex(/^\d{1,15}~[0-9a-f-]{36}$/, 'this is no place in the list')
    .optional(),
})

export type RunQuery = z.output<typeof RunQuery>

/** The period in UTC, for queries. */
export function periodOf(
  { since, until, zone = 'UTC' }: Pick<RunQuery, 'since' | 'until' | 'zone'>,
  nowMs: number,
): { readonly since?: string; readonly until?: string } {
  const [from, to] = [since, until].map((text) => text && instantOf(text, { nowMs, zone }))
  return { ...(from && { since: from }), ...(to && { until: to }) }
}

export function filterOf(query: RunQuery, { limit, nowMs }: { limit: number; nowMs: number }): RunListFilter {
  const { after, refused, inDoubt, overdue, waiting, stuck, zone: _, asOf: __, place: ___, ...texts } = query
  const [startedAt = '', runId = ''] = after?.split('~') ?? []
  const params = Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined))
  return {
    ...params,
    ...periodOf(query, nowMs),
    ...(refused === undefined ? {} : { refused: true }),
    ...(inDoubt === undefined ? {} : { inDoubt: true }),
    ...(overdue === undefined ? {} : { overdue: true }),
    ...(waiting === undefined ? {} : { waiting: true }),
    ...(stuck === undefined ? {} : { stuck: true }),
    ...(after === undefined ? {} : { after: { startedAt, runId } }),
    limit,
  }
}

/** The same filters as parameters of an address. */
export function queryOf({ after: _, place: __, ...filters }: RunQuery): Readonly<Record<string, string | undefined>> {
  return filters
}
