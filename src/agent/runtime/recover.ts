/** @module Recovery after a crash: finishes interrupted rollbacks, asks the tools about calls in doubt, and lists what is left for people to decide. */

import type { RunAnswer } from '../../../schemas/answers/runs.ts'
import type { Json } from '../../../schemas/json.ts'
import { isChildCall } from '../calls/child-run.ts'
import { resolveDoubt } from '../calls/resolve-doubt.ts'
import { argumentsOf, memberValue } from '../calls/stored-value.ts'
import { aDate, checkOptions } from '../option-rules.ts'
import type { RollbackStatus, RunOutcome } from '../saga/outcome.ts'
import { isDoubtful, rollBack } from '../saga/roll-back.ts'
import type { Connection } from './connection.ts'
import type { Home } from './live-run.ts'

/** A call for which no check could tell whether it was executed. */
export interface DoubtfulCallReport {
  readonly runId: string
  readonly callId: string
  readonly tool: string
  readonly args: Json
}

/** An open run and its pending waits. */
export interface WaitingRun {
  readonly runId: string
  readonly name: string
  readonly input: Json
  readonly tags: readonly string[]
  readonly waitsFor: readonly RunWait[]
  /** The run has no pending wait, or the time of one has come: a resume can proceed. */
  readonly due: boolean
}

/** A pending wait of a run. */
export interface RunWait {
  readonly for: 'approval' | 'signal' | 'time'
  /** Id of the approval or of the wait. */
  readonly id: string
  /** Name of the tool to be approved, or of the signal. */
  readonly name?: string
  /** RFC 3339. */
  readonly since: string
  readonly until?: string
}

/** The work that `recover` finished, and the rest that people have to decide. */
export interface Recovery {
  /** Rollbacks that were interrupted, or whose result changed, with their results now. */
  readonly rolledBack: readonly RunOutcome[]
  /** Calls that no `check` could clarify: find out what happened, then resolve them. */
  readonly inDoubt: readonly DoubtfulCallReport[]
  /** Ids of runs to resume, by `run({id})` with the same code. */
  readonly open: readonly string[]
  /** The runs of `open` with details. A resume of one that is not `due` continues to wait. */
  readonly runs: readonly WaitingRun[]
  /** The subset of `runs` with pending waits. */
  readonly waiting: readonly WaitingRun[]
}

/** Limits how far back `recover` looks. */
export interface RecoverOptions {
  /** Runs whose rollback ended in doubt or failed are examined again if they started at or after this time. Default: 30 days ago. */
  readonly since?: Date
}

/** Rollback results that a later resolution may change. */
const UNSETTLED = ['IN_DOUBT', 'COMPENSATION_FAILED'] as const
const SINCE_DEFAULT_MS = 30 * 24 * 60 * 60_000

/**
 * Examines every open run of the tenant, and the runs whose rollback ended in doubt or failed: compensation that a later resolution made possible is carried
 * out. Calls under an active lease are left alone.
 */
export async function recover(home: Home, options: RecoverOptions = {}): Promise<Recovery> {
  checkOptions('cs.recover', options, { since: aDate })
  const { since } = options
  home.registry.mustBeWhole()
  const rolledBack: RunOutcome[] = []
  const inDoubt: DoubtfulCallReport[] = []
  const runs: WaitingRun[] = []
  // The list is read completely first, because the work below changes it.
  const runIds: string[] = []
  for await (const runId of home.connection.runs({ status: 'open' })) runIds.push(runId)
  const from = since ?? new Date(Date.now() - SINCE_DEFAULT_MS)
  const ended: { readonly runId: string; readonly verdict: RollbackStatus }[] = []
  for (const verdict of UNSETTLED) {
    const filter = { status: 'compensated', compensation: verdict, since: from.toISOString() } as const
    for await (const runId of home.connection.runs(filter)) ended.push({ runId, verdict })
  }
  for (const runId of runIds) {
    const outcome = await finishRollback(home, runId)
    inDoubt.push(...(await doubtsOf(home, runId, outcome === undefined)))
    if (outcome !== undefined) rolledBack.push(outcome)
    else runs.push(await openRun(home.connection, runId))
  }
  for (const { runId, verdict } of ended) {
    const outcome = await finishRollback(home, runId)
    if (outcome !== undefined && outcome.status !== verdict) rolledBack.push(outcome)
    inDoubt.push(...(await doubtsOf(home, runId, false)))
  }
  const open = runs.map(({ runId }) => runId)
  const waiting = runs.filter(({ waitsFor }) => waitsFor.length > 0)
  return { rolledBack, inDoubt, open, runs, waiting }
}

async function openRun(connection: Connection, runId: string): Promise<WaitingRun> {
  const { name, tags, waiting = [] } = await connection.run(runId)
  let input: Json = null
  for await (const { data } of connection.events(runId, 'RunStarted')) {
    input = await memberValue(connection, { runId, body: data, name: 'input' })
    break
  }
  const waitsFor = waiting.map(waitOf)
  const due =
    waitsFor.length === 0 || waitsFor.some(({ until }) => until !== undefined && Date.parse(until) <= Date.now())
  return { runId, name, input, tags, waitsFor, due }
}

type OpenWait = NonNullable<RunAnswer['waiting']>[number]

function waitOf({ for: what, approvalId, waitId, tool, name = tool, since, until }: OpenWait): RunWait {
  return {
    for: what,
    id: approvalId ?? waitId ?? '',
    ...(name !== undefined && { name }),
    since,
    ...(until !== undefined && { until }),
  }
}

async function finishRollback(home: Home, runId: string): Promise<RunOutcome | undefined> {
  for await (const { data } of home.connection.events(runId, 'CompensationStarted')) {
    if (data.scope === undefined) return rollBack({ ...home, runId, reason: String(data.reason) })
  }
  return undefined
}

async function doubtsOf(
  { connection, registry }: Home,
  runId: string,
  isResumed: boolean,
): Promise<DoubtfulCallReport[]> {
  const remaining: DoubtfulCallReport[] = []
  for (const call of await connection.calls(runId)) {
    // A model call can be repeated, so there is nothing to check. A run within the run has its own doubts and rollback.
    if (!isDoubtful(call) || call.phase === 'model' || isChildCall(String(call.tool))) continue
    const report = {
      runId,
      callId: String(call.callId),
      tool: String(call.tool),
      args: await argumentsOf(connection, runId, call),
    }
    const spec = call.phase === 'forward' ? registry.get(report.tool) : undefined
    const cleared = await resolveDoubt(connection, spec, { ...report, recordedArgs: report.args })
    // A call with `onUnknown: 'retry'` needs no decision where a resume runs it again.
    if (cleared.kind === 'in-doubt' && !(isResumed && call.onUnknown === 'retry')) remaining.push(report)
  }
  return remaining
}
