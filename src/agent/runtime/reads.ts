/** @module Read access for programs: runs, calls, budgets, and a tail of events. */
import type { JsonObject } from '../../../schemas/json.ts'
import { ROLLBACK_VERDICTS, RUN_STATUSES } from '../../../schemas/run-status.ts'
import { argumentsOf } from '../calls/stored-value.ts'
import { RecordedRequests } from '../models/conversation.ts'
import { aList, aName, aSignal, aTime, checkOptions, type OptionRules, oneOf, text } from '../option-rules.ts'
import type { Connection, Reads, TailedEvent } from './connection.ts'
import type { RunBudget, RunCall, RunFilter, RunSummary, TailOptions } from './read-types.ts'

const FILTER: OptionRules<RunFilter> = {
  status: oneOf(...RUN_STATUSES),
  name: aName,
  tag: aName,
  compensation: oneOf(...ROLLBACK_VERDICTS),
  since: aTime,
}
const TAIL: OptionRules<TailOptions> = { runId: text, types: aList, signal: aSignal }

/** Lists runs, newest first. Throws `invalid-option`. */
export async function* listedRuns(connection: Connection, filter: RunFilter = {}): AsyncGenerator<RunSummary, void> {
  checkOptions('cs.runs', filter, FILTER)
  const { since, ...rest } = filter
  // In UTC, as times are compared.
  const from = since === undefined ? {} : { since: new Date(since).toISOString() }
  for await (const row of connection.runRows({ ...rest, ...from })) yield row as RunSummary
}

export async function callsOf(connection: Reads, runId: string): Promise<readonly RunCall[]> {
  const listed = await connection.calls(runId)
  const requests = new RecordedRequests()
  const calls: RunCall[] = []
  // By first claim, each model request comes after the request it continues; the ledger's list is ordered by the latest claim.
  for (const call of [...listed].sort(byFirstClaim)) {
    const args = await argumentsOf(connection, runId, call)
    const request = call.phase === 'model' ? requests.whole(args) : undefined
    const { argsRef: _, ...rest } = call
    calls.push({
      ...rest,
      args: request === undefined ? args : { ...withoutChange(args as JsonObject), request },
    } as RunCall)
  }
  return calls
}

/** Call ids are UUIDs of version 7, which sort by creation time. */
function byFirstClaim(a: JsonObject, b: JsonObject): number {
  return String(a.callId) < String(b.callId) ? -1 : 1
}

function withoutChange({ change: _, ...args }: JsonObject): JsonObject {
  return args
}

export async function budgetOf(connection: Reads, runId: string): Promise<RunBudget> {
  return (await connection.budget(runId)) as unknown as RunBudget
}

/** The events of `cs.tail`, limited to the given types. Throws `invalid-option`. */
export async function* tailed(connection: Connection, given: TailOptions = {}): AsyncGenerator<TailedEvent, void> {
  checkOptions('cs.tail', given, TAIL)
  const { types, ...options } = given
  for await (const event of connection.tail(options)) if (types === undefined || types.includes(event.type)) yield event
}
