/** @module Classes of retention (LIFE-53): which runs are archived, and when. */
import { z } from 'zod'
import { Tenant } from './names.ts'
import { RUN_STATUSES } from './run-status.ts'

/** Name of an archive: the tenant, a hyphen, six digits. */
export const ARCHIVE_PATTERN = /^[a-z0-9][a-z0-9-]{0,62}-\d{6}$/
const DIGITS = 6

/** The name of a tenant's archive of this number. */
export function archiveName(tenant: string, number: number): string {
  return `${tenant}-${String(number).padStart(DIGITS, '0')}`
}

/** The number in the name of an archive. */
export function archiveNumber(name: string): number {
  return Number(name.slice(-DIGITS))
}

export const ARCHIVED_RUNS_MAX = 500
/** Large values of one archive; those beyond it stay in the store. */
export const ARCHIVED_VALUES_MAX = 10_000

const DAYS_MAX = 36_500
const CLASSES_MAX = 100

export const ClassName = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'takes 1 to 63 of a-z, 0-9 and -')

const Status = z.enum(RUN_STATUSES).exclude(['open'])
const Days = z.int().min(0).max(DAYS_MAX)

export const RetentionClass = z
  .strictObject({
    class: ClassName.describe('Name of the class, which is recorded.'),
    tenant: Tenant.optional().describe('Only runs of this tenant; all tenants if absent.'),
    match: z
      .strictObject({
        name: z.string().min(1).optional(),
        tag: z.string().min(1).optional(),
        status: Status.optional(),
      })
      .optional()
      .describe('Only runs with this name, this tag, this status; all runs that have ended if absent.'),
    keep: z
      .strictObject({ atLeast: Days.optional(), atMost: Days })
      .describe('Days since the last event of the run: never archived before `atLeast`, and due after `atMost`.'),
    // A class of its own for erasure is not known to this version, and must not be taken for one that archives.
    action: z.literal('archive', { error: 'only "archive" is known to this version' }),
  })
  .refine(({ keep: { atLeast = 0, atMost } }) => atLeast <= atMost, 'keep.atLeast is more than keep.atMost')

export const RetentionClasses = z
  .strictObject({ retention: z.array(RetentionClass).min(1).max(CLASSES_MAX) })
  .refine(
    ({ retention }) => new Set(retention.map((each) => each.class)).size === retention.length,
    'two classes have one name',
  )

export type RetentionClass = z.infer<typeof RetentionClass>
