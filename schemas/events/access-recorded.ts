/**
 * @module AccessRecorded: the reads of about 100 ms, one entry each, in `access-<tenant>.<writer>`; each start of a process is a new writer
 * (LOG-20).
 */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { TIME_PATTERN, VIA_MAX } from '../header.ts'
import { Name } from '../names.ts'
import { Uuid } from '../values.ts'

/** Maximum number of reads in one event. */
export const ACCESS_ENTRIES_MAX = 256

const FILTER_MAX_CHARS = 1_024

export const AccessEntry = z.strictObject({
  /** Time of the read, by the ledger's clock. */
  at: z.string().regex(TIME_PATTERN),
  actor: Name,
  principal: Name.optional(),
  via: z.array(Name).max(VIA_MAX).optional(),
  /** The query: `payloads` for bodies read under a scope of the run, `events`, `export`, `tail`, `replay`, `page`, or `audit/<name>` for a named query. */
  query: z.string().min(1).max(64),
  /** The run that was read, if the query concerns one. */
  run: z.string().max(128).optional(),
  /** Filters as given, by name. */
  filters: z.record(z.string().max(64), z.string().max(FILTER_MAX_CHARS)).optional(),
  /**
   * The state that the answer refers to: a size of the tenant's log, or the tenant's last event. `position`, in the store, occurs in the
   * first release only.
   */
  asOf: z
    .strictObject({
      treeSize: z.int().min(0).optional(),
      eventId: Uuid.optional(),
      position: z.string().max(128).optional(),
    })
    .optional(),
  /** Number of items, events or lines in the answer; absent if the answer has no end, as a tail. */
  count: z.int().min(0).optional(),
  /** For a replay or a verification. */
  verdict: z.enum(['VERIFIED', 'TAMPERED', 'INCOMPLETE', 'UNVERIFIABLE']).optional(),
  /** For an entry that combines several reads of bodies: time of the last read; `at` is that of the first. */
  until: z.string().regex(TIME_PATTERN).optional(),
  /** Number of reads that the entry combines. */
  reads: z.int().min(1).optional(),
  /** The answer was cut off before its end. */
  cut: z.literal(true).optional(),
})

/** The version of a body with these entries. */
export function accessVersion(entries: readonly Pick<AccessEntry, 'until' | 'reads'>[]): 1 | 2 {
  return entries.some(({ until, reads }) => until !== undefined || reads !== undefined) ? 2 : 1
}

export const AccessRecorded = eventType({
  family: 'access',
  label: 'Access recorded',
  activity: 'read',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  routine: true,
  changes: {},
  schema: z
    .strictObject({
      /** Version 2: an entry may combine several reads. */
      v: z.union([z.literal(1), z.literal(2)]),
      entries: z.array(AccessEntry).min(1).max(ACCESS_ENTRIES_MAX),
    })
    .refine(({ v, entries }) => v === accessVersion(entries), 'version 2 holds entries of several reads, and 1 none'),
})

export type AccessEntry = z.infer<typeof AccessEntry>
