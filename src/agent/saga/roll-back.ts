/** @module Rollback of a run or a scope: closes it, waits for calls in flight, and undoes the calls group by group, newest first (RUN-28 to RUN-33). */
import type { JsonObject } from '../../../schemas/json.ts'
import type { Failure } from '../../../schemas/values.ts'
import { allEnded } from '../../resources/all-ended.ts'
import { isChildCall } from '../calls/child-run.ts'
import { resolveDoubt } from '../calls/resolve-doubt.ts'
import { argumentsOf } from '../calls/stored-value.ts'
import type { ToolRegistry } from '../calls/tool-spec.ts'
import { type Undoing, undo, undoingOf } from '../calls/undo.ts'
import { clip, LedgerRefused } from '../errors.ts'
import type { Connection } from '../runtime/connection.ts'
import type { Session } from '../runtime/session.ts'
import { fateOfItem, isCovered, listsOf, NOTHING, type RunOutcome, rollbackStatus } from './outcome.ts'

export interface Rollback {
  readonly connection: Connection
  readonly registry: ToolRegistry
  readonly runId: string
  /** If absent, the whole run is rolled back. */
  readonly scope?: string
  readonly reason: string
  /** For a run within a run: the error that its code ended with. */
  readonly error?: Failure
  /** The session of the run, if it is executed in this process. */
  readonly session?: Session
  /** Set where the run was taken over: runs within it that this process carried on or took over itself already. The leases of others end. */
  readonly ownRuns?: Set<string> | undefined
  /** The leases of this run, which is one within a run that was taken over, end now. */
  readonly takesOver?: boolean
}

const REASON_MAX_CHARS = 4_000
/** Maximum number of rounds. Calls that were in flight join the plan, so it is read again in each round; each round ends at least one of them. */
const ROUNDS_MAX = 100

/** Does not throw if a compensation fails. Calling it again continues an interrupted rollback. */
export async function rollBack(rollback: Rollback): Promise<RunOutcome> {
  const { connection, runId, scope, session } = rollback
  const body = {
    reason: clip(rollback.reason, REASON_MAX_CHARS) || 'no reason given',
    ...(rollback.error !== undefined && { error: rollback.error }),
    ...(scope !== undefined && { scope }),
    ...(session?.live !== undefined && { runFence: session.fence }),
  }
  const started = await connection.execute(runId, { kind: 'compensate', body })
  if (!started.ok) throw new LedgerRefused(started.problem)
  if (rollback.takesOver === true) await takeOver(rollback)
  if (scope === undefined) await session?.settled()
  let known = await clearDoubts(rollback)
  const undoing = { ...rollback, rollBackChild: childrenOf(rollback) }

  const tried = new Set<string>()
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const listed = known ?? (await connection.calls(runId))
    known = undefined
    const calls = new Map(listed.map((call) => [String(call.callId), call]))
    const again = await repeatable(undoing, calls)
    const isRemaining = (id: string): boolean => !tried.has(id) && (again.has(id) || isPending(calls.get(id)))
    // A plan holds nothing else.
    const undoable = listed.filter(({ phase }) => phase === 'forward')
    if (!undoable.some(({ callId }) => isRemaining(String(callId)))) return outcomeOfCalls(rollback, listed)
    const groups = (await planOf(rollback)).map((group) => group.filter(isRemaining))
    const pending = groups.filter((group) => group.length > 0)
    if (pending.length === 0) return outcomeOfCalls(rollback, listed)
    for (const group of pending) {
      // A failed compensation does not interrupt the others of its group: all must end before the rollback continues.
      await allEnded(
        group.map((callId) => {
          tried.add(callId)
          return undo(undoing, calls.get(callId) ?? {})
        }),
      )
    }
  }
  return outcomeOfCalls(rollback, await connection.calls(runId))
}

/** A run within the run is undone like a call, through its own rollback. Nothing that this process claimed itself is taken over. */
export function childrenOf({
  connection,
  registry,
  session,
  ownRuns = session?.takenOver,
}: Pick<Rollback, 'connection' | 'registry' | 'session' | 'ownRuns'>): Undoing['rollBackChild'] {
  return (runId, reason) => {
    const takesOver = ownRuns?.has(runId) === false
    ownRuns?.add(runId)
    return rollBack({ connection, registry, runId, reason, ownRuns, takesOver })
  }
}

/** Ends the leases of the run for their owners, who are gone: what they were carrying out is in doubt. An outcome that came meanwhile counts. */
async function takeOver(rollback: Rollback): Promise<void> {
  for (const call of await rollback.connection.calls(rollback.runId))
    if (call.status === 'claimed') await endLease(rollback, call, 'taken over with the run around this one')
}

/** The call is in doubt from now on. A refusal says that its outcome came meanwhile, or that the doubt is recorded already. */
async function endLease(
  { connection, runId }: Pick<Rollback, 'connection' | 'runId'>,
  { callId, fence }: JsonObject,
  reason: string,
): Promise<void> {
  const unknown = { reason, left: true } as const
  await connection.execute(runId, { kind: 'settle', callId: String(callId), body: { fence: Number(fence), unknown } })
}

async function outcomeOfCalls(
  { connection, runId, scope }: Rollback,
  calls: readonly JsonObject[],
): Promise<RunOutcome> {
  const times = await compensationTimes(connection, runId, calls)
  const forward = calls.filter(({ phase }) => phase === 'forward')
  const lists = listsOf(
    forward.map((call) => fateOfItem(call, times.get(String(call.callId)))),
    scope,
  )
  return { runId, status: rollbackStatus(lists), ...lists }
}

/** When each call was undone, by call id: the time of its compensation, or of its manual resolution. */
async function compensationTimes(
  connection: Connection,
  runId: string,
  calls: readonly JsonObject[],
): Promise<ReadonlyMap<string, string>> {
  const times = new Map<string, string>()
  const undone = calls.filter(({ status }) => status === 'compensated').map(({ callId }) => String(callId))
  if (undone.length === 0) return times
  for await (const { time, data } of connection.events(runId, 'CompensationSucceeded')) {
    times.set(String(data.compensates), time)
  }
  if (undone.every((callId) => times.has(callId))) return times
  const keys = new Map(calls.map(({ callId, key, phase }) => [callId, phase === 'compensation' ? key : callId]))
  for await (const { time, data } of connection.events(runId, 'ToolCallResolved')) {
    times.set(String(keys.get(data.callId ?? null) ?? data.callId), time)
  }
  return times
}

export function openOutcome(runId: string, rollbackError?: unknown): RunOutcome {
  return { runId, status: 'OPEN', ...NOTHING, ...(rollbackError !== undefined && { rollbackError }) }
}

/** The ids of the calls to undo, group by group. */
async function planOf({ connection, runId, scope }: Rollback): Promise<string[][]> {
  const found = (await connection.compensations(runId)).find((each) => each.scope === scope)
  const plan = (found?.plan ?? []) as readonly (readonly JsonObject[])[]
  return plan.map((group) => group.map(({ callId }) => String(callId)))
}

/** Whether the call must still be undone. A failed compensation without a pending retry, or one in doubt, has used up its attempts. */
function isPending(call: JsonObject | undefined): boolean {
  if (call === undefined) return false
  const { status, willRetry, compensateFailed } = call
  return (
    status === 'succeeded' ||
    status === 'in-doubt' ||
    status === 'compensating' ||
    (status === 'failed' && compensateFailed === true) ||
    (status === 'compensation-failed' && willRetry === true)
  )
}

/**
 * Forward calls whose compensation failed or is in doubt but may run again: it was found not to have been executed, a run within the run was rolled back since,
 * or its outcome is unknown and it has a check or may be repeated.
 */
async function repeatable(undoing: Undoing, calls: ReadonlyMap<string, JsonObject>): Promise<ReadonlySet<string>> {
  const ended = [...calls.values()].filter(
    ({ status }) => status === 'compensation-failed' || status === 'compensation-unknown',
  )
  if (ended.length === 0) return new Set()
  const notExecuted = new Set<unknown>()
  for await (const { data } of undoing.connection.events(undoing.runId, 'ToolCallResolved')) {
    if (data.outcome === 'not-executed') notExecuted.add(data.callId)
    else notExecuted.delete(data.callId)
  }
  const tries = [...calls.values()].filter(({ phase }) => phase === 'compensation')
  const found = new Set<string>()
  for (const call of ended) {
    const last = tries.find(({ key }) => key === call.callId)
    const again =
      call.status === 'compensation-failed'
        ? (last?.status === 'failed' && notExecuted.has(last.callId)) || (await isUndoneSince(undoing, call))
        : canTell(undoing, call, last)
    if (again) found.add(String(call.callId))
  }
  return found
}

function canTell(undoing: Undoing, call: JsonObject, last: JsonObject | undefined): boolean {
  const compensation = undoingOf(undoing, call)
  return compensation !== undefined && (compensation.check !== undefined || last?.onUnknown === 'retry')
}

/** Whether the run within this run has been rolled back since, after its obstacle was resolved. */
async function isUndoneSince({ rollBackChild }: Undoing, { tool, child }: JsonObject): Promise<boolean> {
  if (!isChildCall(String(tool)) || typeof child !== 'string') return false
  const { status } = await rollBackChild(child, '')
  return status === 'COMPENSATED' || status === 'PARTLY_COMPENSATED'
}

/** Resolves the calls in doubt that their tools can check, before the plan is carried out. Returns the calls of the run if there were none. */
async function clearDoubts({
  connection,
  registry,
  runId,
  scope,
}: Pick<Rollback, 'connection' | 'registry' | 'runId' | 'scope'>): Promise<readonly JsonObject[] | undefined> {
  const calls = await connection.calls(runId)
  const doubtful = calls.filter((call) => {
    return call.phase === 'forward' && isDoubtful(call) && isCovered(scope, call.scope as string | undefined)
  })
  for (const call of doubtful) {
    const spec = registry.get(String(call.tool))
    const cleared = await resolveDoubt(connection, spec, {
      runId,
      callId: String(call.callId),
      recordedArgs: await argumentsOf(connection, runId, call),
    })
    // The plan holds only what is recorded, so the doubt is, before the plan is read.
    const isUnrecorded = cleared.kind === 'in-doubt' && call.status === 'claimed'
    if (isUnrecorded) await endLease({ connection, runId }, call, 'its lease is over, and its run is rolled back')
  }
  return doubtful.length === 0 ? calls : undefined
}

/** Whether a call is in doubt, or claimed with a lease that has expired by the ledger's clock. */
export function isDoubtful({ status, overdue }: JsonObject): boolean {
  return status === 'in-doubt' || (status === 'claimed' && overdue === true)
}
