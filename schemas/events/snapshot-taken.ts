/**
 * @module SnapshotTaken, written by 0.1.0 only: the snapshot that a replay rebuilds and compares, as of the preceding event. Current
 * handoffs contain their own.
 */
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
