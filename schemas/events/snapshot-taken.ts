/** @module SnapshotTaken, of stores that 0.1.0 wrote: what replay rebuilds and compares, as of the event before it. A handoff of today holds its own. */
import { eventType } from '../event-type.ts'
import { Snapshot } from '../snapshot.ts'

export const SnapshotTaken = eventType({
  family: 'handoff',
  label: 'Snapshot taken',
  activity: 'create',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  routine: true,
  changes: {},
  schema: Snapshot,
})
