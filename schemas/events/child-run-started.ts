/**
 * @module ChildRunStarted: a call of this run starts another run, whose first event names this one. It stands here before the child's first event: a child
 * that was never begun is known by it.
 */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { RunId } from '../names.ts'
import { Uuid } from '../values.ts'

export const ChildRunStarted = eventType({
  family: 'run',
  label: 'Child run started',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: ['call'],
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    /** The call whose work the child is. */
    callId: Uuid,
    /** The run that is started. */
    run: RunId,
  }),
})
