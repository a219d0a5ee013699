/** @module What a program can read of the ledger it runs on: runs, calls, budgets, and events as they come. */
import type { JsonObject } from '../../../schemas/json.ts'
import { argumentsOf } from '../calls/stored-value.ts'
import { RecordedRequests } from '../models/conversation.ts'
import type { Connection, Reads, TailedEvent } from './connection.ts'
import type { RunBudget, RunCall, RunFilter, RunSummary, TailOptions } from './read-types.ts'

/** Newest first. */
export async function* listedRuns(connection: Connection, filter: RunFilter = {}): AsyncGenerator<RunSummary, void> {
  for await (const row of connection.runRows(filter)) yield row as RunSummary
}

export async function callsOf(connection: Reads, runId: string): Promise<readonly RunCall[]> {
  const listed = await connection.calls(runId)
  const requests = new RecordedRequests()
  const calls: RunCall[] = []
  // In the order of their first claims a request comes after the one that it goes on from; the list is by the latest.
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

/** Ids of calls are UUIDs of version 7: their order is that of their making. */
function byFirstClaim(a: JsonObject, b: JsonObject): number {
  return String(a.callId) < String(b.callId) ? -1 : 1
}

function withoutChange({ change: _, ...args }: JsonObject): JsonObject {
  return args
}

export async function budgetOf(connection: Reads, runId: string): Promise<RunBudget> {
  return (await connection.budget(runId)) as unknown as RunBudget
}

export async function* tailed(
  connection: Connection,
  { types, ...options }: TailOptions = {},
): AsyncGenerator<TailedEvent, void> {
  for await (const event of connection.tail(options)) if (types === undefined || types.includes(event.type)) yield event
}
