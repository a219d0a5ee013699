/**
 * @module RunsArchived: the bodies of runs that have ended were written to an archive, which was read again and checked, and are moved out of the store
 * (LIFE-51). The headers stay, so every proof remains valid.
 */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Digest, RunId } from '../names.ts'
import { ARCHIVE_PATTERN, ARCHIVED_RUNS_MAX, ARCHIVED_VALUES_MAX, ClassName } from '../retention.ts'

const Count = z.int().min(0)

export const RunsArchived = eventType({
  family: 'ledger',
  label: 'Runs archived',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'low' },
  facts: [],
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    /** Name of the archive: its file without the extension, `.jsonl`. */
    archive: z.string().regex(ARCHIVE_PATTERN),
    /** SHA-256 of the whole file, and its length. */
    digest: Digest,
    bytes: Count,
    /** Number of events in it, with the parts of large values. */
    events: Count,
    /** The archived runs, each with the number of its first events that are in the archive. */
    runs: z
      .array(z.strictObject({ run: RunId, events: z.int().min(1) }))
      .min(1)
      .max(ARCHIVED_RUNS_MAX),
    /** Digests of the large values of these runs that are in it, too. */
    values: z.array(Digest).max(ARCHIVED_VALUES_MAX).optional(),
    /** Names of the classes of retention that say so. */
    classes: z.array(ClassName).min(1),
    /** Size and root of the tenant's log when the archive was written; null if no log is kept or it has stopped. */
    treeSize: Count.nullable(),
    root: Digest.nullable(),
  }),
})
