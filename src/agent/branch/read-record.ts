/** @module Reads the record of a run including what it inherits: a branch is served the other run's calls and handoffs up to the step (RUN-26). */
import { LedgerError } from '../../client/errors.ts'
import { AgentError } from '../errors.ts'
import { foldEvent, foldLateOutcome, newRecord, type RecordedRun } from '../history/recorded-run.ts'
import type { Connection, RunEvent } from '../runtime/connection.ts'

/** Reads the whole record of a run. Throws `parent-not-readable` if the run is a branch of a run that this caller cannot read. */
export async function readRecord(connection: Connection, runId: string): Promise<RecordedRun> {
  return recordIn(connection, { runId, events: connection.events(runId) }, Number.POSITIVE_INFINITY)
}

/** The record of a run up to the revision `until`; of later events, only the outcomes of calls claimed before are used. */
export async function recordIn(
  connection: Connection,
  { runId, events }: { readonly runId: string; readonly events: AsyncIterable<RunEvent> },
  until: number,
): Promise<RecordedRun> {
  let record: RecordedRun | undefined
  let revision = 0
  for await (const event of events) {
    record ??= await recordBefore(connection, event)
    record.runId = runId
    if (revision <= until) foldEvent(record, event)
    else foldLateOutcome(record, event)
    revision += 1
  }
  return record ?? newRecord()
}

async function recordBefore(connection: Connection, { type, data }: RunEvent): Promise<RecordedRun> {
  const branchOf = type === 'RunStarted' ? (data.branchOf as RecordedRun['branchOf']) : undefined
  if (branchOf === undefined) return newRecord()
  const { run, revision } = branchOf
  try {
    return inherited(await recordIn(connection, { runId: run, events: connection.events(run) }, revision))
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error
    const message = `the run is a branch of ${run}, whose record cannot be read: ${error.message}`
    throw new AgentError('parent-not-readable', message, { run }, { cause: error })
  }
}

/** Reduces a record to the part that a branch inherits: rollbacks, the end of the run and manifests are not inherited. */
function inherited(record: RecordedRun): RecordedRun {
  const scopes = new Set([...record.rollbacks.flatMap(({ scope }) => scope ?? []), ...(record.inherited?.scopes ?? [])])
  record.inherited = { until: record.events, calls: new Set([...record.calls.keys(), ...record.waits.keys()]), scopes }
  record.rollbacks.length = 0
  record.handoffs.manifests.clear()
  delete record.end
  return record
}
