/** @module RunBranched: another run was started from a step of this one; in the stream of the original run, possibly after its end. */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { RunId } from '../names.ts'

export const RunBranched = eventType({
  family: 'run',
  label: 'Run branched',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    /** The run that was started. */
    run: RunId,
    atStep: z.int().min(0),
    /** Revision of the event in this stream that established the step. */
    revision: z.int().min(0),
  }),
})
