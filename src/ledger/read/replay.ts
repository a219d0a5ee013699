/** @module Replay: rereads the stream of a run, verifies each MAC and link, folds the events again, and compares each recorded snapshot. */

import type { RecordedEvent } from '../../../projections/projection.ts'
import { evolveRun, snapshotAfterHandoff, snapshotOf } from '../../../projections/run.ts'
import type { RunState } from '../../../projections/run-state.ts'
import type { Json } from '../../../schemas/json.ts'
import { type Loss, lossesMember } from '../../../schemas/loss.ts'
import type { HandoffSnapshot, Snapshot } from '../../../schemas/snapshot.ts'
import { HANDOFF_SNAPSHOT_VERSION, SNAPSHOT_VERSION } from '../../../schemas/value-forms.ts'
import { canonicalJson } from '../../signing/canonical-json.ts'
import {
  type CheckKeys,
  checkRecord,
  type Expectation,
  type Fault,
  firstExpectation,
  nextExpectation,
} from '../../signing/check.ts'
import { textDigest } from '../../signing/digests.ts'
import type { ReadRecord } from '../../store/event-store.ts'
import type { ReplayLine } from '../ledger.ts'
import { recordedEvent } from './parse-record.ts'

/** `onFault` is called with the first event that does not verify. */
export interface ReplayKeys extends CheckKeys {
  readonly onFault?: (record: ReadRecord, faults: readonly Fault[]) => void
  /** The known losses of the run or of the store; a run without faults is then INCOMPLETE. */
  readonly losses?: readonly Loss[] | undefined
}

export interface ReplayCounts {
  events: number
  matched: number
  mismatched: number
  notCompared: number
}

/**
 * One line per event and a verdict at the end: `VERIFIED` if every event is the one that was sealed and every snapshot matches the state folded from
 * them, `TAMPERED` with the first faults if not, and `INCOMPLETE` if there are no events, or some are known to be lost. Never stops early: events
 * after a fault are listed too, without being folded.
 */
export async function* replayRecords(
  pages: AsyncIterable<readonly ReadRecord[]>,
  stream: string,
  keys: ReplayKeys,
): AsyncGenerator<ReplayLine> {
  const counts: ReplayCounts = { events: 0, matched: 0, mismatched: 0, notCompared: 0 }
  const faults: ReplayLine[] = []
  let isAway = false
  let state: RunState | undefined
  let expected: Expectation | undefined = firstExpectation(stream)
  for await (const page of pages) {
    for (const record of page) {
      counts.events += 1
      if (expected === undefined) {
        yield { revision: record.revision, ok: false, skipped: 'an earlier event does not verify' }
        continue
      }
      const checked = checkRecord(record, expected, keys)
      if (!checked.ok) {
        expected = undefined
        isAway = checked.faults.every(({ code }) => code === 'archive-missing')
        keys.onFault?.(record, checked.faults)
        const line = { revision: record.revision, ok: false, faults: checked.faults.map(faultLine) }
        faults.push(line)
        yield line
        continue
      }
      expected = nextExpectation(checked)
      const step = foldStep(state, { record, header: checked.header, counts })
      state = step.state
      if (step.line.ok === false) faults.push(step.line)
      yield step.line
    }
  }
  yield verdictLine(stream, { counts, faults, isAway, state, losses: keys.losses ?? [] })
}

function faultLine({ code, message }: Fault): Json {
  return { code, message }
}

function foldStep(
  before: RunState | undefined,
  inputs: { record: ReadRecord; header: Parameters<typeof recordedEvent>[0]; counts: ReplayCounts },
): { state: RunState | undefined; line: ReplayLine } {
  const { record, header, counts } = inputs
  const { revision, type, time, actor } = header
  const place = { revision, type, time, actor }
  const event = recordedEvent(header, record.data)
  const state = evolveRun(before, event)
  const recorded = recordedSnapshot(event)
  const compared = recorded === undefined ? undefined : compareSnapshot(state, recorded, counts)
  const line = { ...place, ok: compared?.snapshot !== 'mismatch', step: state.lineage.at(-1)?.step ?? 0, ...compared }
  return { state, line }
}

/** The snapshot document in an event; a SnapshotTaken event changes nothing that the document contains. */
function recordedSnapshot(event: RecordedEvent): { readonly v: number } | undefined {
  if (event.type === 'SnapshotTaken') return event.data
  return event.type === 'EnvelopeAccepted' ? event.data.snapshot : undefined
}

/** Builds the snapshot of a state, by the version of the document. */
const SNAPSHOTS: { readonly [version: number]: ((state: RunState) => Snapshot | HandoffSnapshot) | undefined } = {
  [SNAPSHOT_VERSION]: snapshotOf,
  [HANDOFF_SNAPSHOT_VERSION]: snapshotAfterHandoff,
}

function compareSnapshot(
  state: RunState,
  recorded: { readonly v: number },
  counts: ReplayCounts,
): { snapshot: string } | ReplayLine {
  const make = SNAPSHOTS[recorded.v]
  if (make === undefined) {
    counts.notCompared += 1
    return { snapshot: 'not-compared' }
  }
  // The digest is computed from the context as folded now; the state only repeats the digest in the events.
  const rebuilt = { ...make(state), context: textDigest(canonicalJson(state.context)) } as unknown as Json
  if (canonicalJson(rebuilt) === canonicalJson(recorded as Json)) {
    counts.matched += 1
    return { snapshot: 'match' }
  }
  counts.mismatched += 1
  return { snapshot: 'mismatch', recorded: recorded as Json, rebuilt }
}

function verdictLine(
  stream: string,
  input: {
    counts: ReplayCounts
    faults: readonly ReplayLine[]
    /** Whether all that is wrong is that the archive with the rest is not there. */
    isAway: boolean
    state: RunState | undefined
    losses: readonly Loss[]
  },
): ReplayLine {
  const { counts, faults, isAway, state } = input
  const losses = lossesMember(input.losses)
  const { events, matched, mismatched, notCompared } = counts
  return {
    verdict: verdictOf({ events, faults: isAway ? 0 : faults.length, isComplete: losses === undefined && !isAway }),
    stream,
    events,
    snapshots: { matched, mismatched, notCompared },
    ...(state === undefined
      ? {}
      : { status: state.status, step: state.lineage.at(-1)?.step ?? 0, contextDigest: state.contextDigest }),
    faults: faults.slice(0, 20) as Json,
    ...(losses && { losses: losses as unknown as Json }),
  }
}

function verdictOf(found: { readonly events: number; readonly faults: number; readonly isComplete: boolean }): string {
  if (found.events > 0 && found.faults > 0) return 'TAMPERED'
  return found.events > 0 && found.isComplete ? 'VERIFIED' : 'INCOMPLETE'
}
