/** @module AccessRecorded: reads of some 100 ms, one entry each; in `access-<tenant>.<writer>`, a writer being one process from its start on (LOG-20). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { TIME_PATTERN, VIA_MAX } from '../header.ts'
import { Name } from '../names.ts'
import { Uuid } from '../values.ts'

/** Reads that one event holds at most. */
export const ACCESS_ENTRIES_MAX = 256

const FILTER_MAX_CHARS = 1_024

export const AccessEntry = z.strictObject({
  /** When it was asked, by the ledger's clock. */
  at: z.string().regex(TIME_PATTERN),
  actor: Name,
  principal: Name.optional(),
  via: z.array(Name).max(VIA_MAX).optional(),
  /** What was asked: `payloads` of bodies read by a scope of the run's own, `events`, `export`, `tail`, `replay`, `page`, or `audit/<name>` of a named query. */
  query: z.string().min(1).max(64),
  /** The run it was about, where it was about one. */
  run: z.string().max(128).optional(),
  /** Filters as they were given, by name. */
  filters: z.record(z.string().max(64), z.string().max(FILTER_MAX_CHARS)).optional(),
  /** What the answer was pinned to: a size of the tenant's log, the tenant's last event; `position`, in the store, of the first release alone. */
  asOf: z
    .strictObject({
      treeSize: z.int().min(0).optional(),
      eventId: Uuid.optional(),
      position: z.string().max(128).optional(),
    })
    .optional(),
  /** Items, events or lines that were given; absent where the answer has no end, as a tail. */
  count: z.int().min(0).optional(),
  /** Of a replay or a verification. */
  verdict: z.enum(['VERIFIED', 'TAMPERED', 'INCOMPLETE', 'UNVERIFIABLE']).optional(),
  /** Of several reads of bodies that are one entry: when the last of them was, `at` being the first. */
  until: z.string().regex(TIME_PATTERN).optional(),
  /** How many they were. */
  reads: z.int().min(1).optional(),
  /** The answer broke off before its end. */
  cut: z.literal(true).optional(),
})

/** Of a body with these entries. */
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
      /** 2: an entry stands for several reads. */
      v: z.union([z.literal(1), z.literal(2)]),
      entries: z.array(AccessEntry).min(1).max(ACCESS_ENTRIES_MAX),
    })
    .refine(({ v, entries }) => v === accessVersion(entries), 'version 2 holds entries of several reads, and 1 none'),
})

export type AccessEntry = z.infer<typeof AccessEntry>
