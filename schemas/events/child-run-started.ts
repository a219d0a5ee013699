/**
 * @module ChildRunStarted: a call of this run starts another run, whose first event names this one. It is written before the child's first
 * event, so that a child that never began is known too.
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
    /** The call that the child run executes. */
    callId: Uuid,
    /** The run that is started. */
    run: RunId,
  }),
})
