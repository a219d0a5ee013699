/** @module The outcome of a run or a saga, as returned by `outcomeOf(error)` and by sagas. */
import type { JsonObject } from '../../../schemas/json.ts'
import type { RecordedCall, RecordedRun } from '../history/recorded-run.ts'

/** The result of a rollback: everything undone; all undone except effects that cannot be; a compensation failed; or an outcome is unknown. */
export type RollbackStatus = 'COMPENSATED' | 'PARTLY_COMPENSATED' | 'COMPENSATION_FAILED' | 'IN_DOUBT'

/** Refers to a call by its id and its tool. */
export interface CallRef {
  readonly callId: string
  readonly tool: string
}

/** A call that was undone, and the time at which that was recorded, as RFC 3339 in UTC. */
export interface CompensatedCall extends CallRef {
  readonly compensatedAt?: string
}

export interface RollbackLists {
  readonly compensated: readonly CompensatedCall[]
  /** Calls that succeeded and whose effects remain, because they have no compensation or it left some of them. */
  readonly standing: readonly CallRef[]
  readonly failed: readonly CallRef[]
  /** Calls of which it is unknown whether they, or their compensation, were executed. */
  readonly unknown: readonly CallRef[]
}

/** The outcome of a run that threw, and of its calls. */
export interface RunOutcome extends RollbackLists {
  readonly runId: string
  /** `FAILED`: ended without a rollback, as requested. `OPEN`: not ended; resume it by its id. */
  readonly status: RollbackStatus | 'FAILED' | 'OPEN'
  /** The error that prevented the rollback from finishing, if any. */
  readonly rollbackError?: unknown
}

export const NOTHING: RollbackLists = { compensated: [], standing: [], failed: [], unknown: [] }

/** The properties of a forward call that a rollback depends on. */
interface Fate {
  readonly callId: string
  readonly tool: string
  readonly scope: string | undefined
  readonly parentCall: string | undefined
  readonly compensate: RecordedCall['compensate']
  readonly status: string
  /** The call was undone as far as possible; some of its effects remain. */
  readonly leftStanding?: boolean
  readonly compensatedAt?: string | undefined
}

export function fateOfItem(item: JsonObject, compensatedAt?: string): Fate {
  const { callId, tool, scope, parentCall, compensate, status, leftStanding = false } = item
  return { callId, tool, scope, parentCall, compensate, status, leftStanding, compensatedAt } as unknown as Fate
}

/** The fate of each call from a run's record, equal to what the ledger would report. */
export function fatesIn(run: RecordedRun | undefined, inherited = false): Fate[] {
  const own = (callId: string): boolean => inherited || run?.inherited?.calls.has(callId) !== true
  return [...new Set(run?.calls.values())]
    .filter(({ phase, callId }) => phase === 'forward' && own(callId))
    .map((call) => ({ ...call, status: statusOf(call), compensatedAt: call.undoneAt }))
}

const UNDONE = { compensated: 'compensated', failed: 'compensation-failed', unknown: 'compensation-unknown' } as const

function statusOf(call: RecordedCall): string {
  if (call.undone !== undefined) return UNDONE[call.undone]
  const outcome = call.attempts.at(-1)?.outcome
  if (outcome === undefined || outcome.kind === 'unknown') return 'in-doubt'
  return outcome.kind === 'succeeded' ? 'succeeded' : 'failed'
}

/** Sorts the forward calls of a scope by their outcome. */
export function listsOf(all: readonly Fate[], scope: string | undefined): RollbackLists {
  const byId = new Map(all.map((call) => [call.callId, call]))
  const inScope = all.filter((call) => isCovered(scope, call.scope))
  const having = (...statuses: readonly string[]): CallRef[] =>
    inScope
      .filter(({ status, leftStanding }) => statuses.includes(status) && leftStanding !== true)
      .map(({ callId, tool }) => ({ callId, tool }))
  const standing = inScope.filter((call) => isStanding(call, byId))
  return {
    compensated: inScope
      .filter(({ status, leftStanding }) => status === 'compensated' && leftStanding !== true)
      .map(compensatedCall),
    standing: standing.map(({ callId, tool }) => ({ callId, tool })),
    failed: having('compensation-failed'),
    unknown: having('compensation-unknown', 'in-doubt', 'compensating', 'claimed'),
  }
}

function compensatedCall({ callId, tool, compensatedAt }: Fate): CompensatedCall {
  return { callId, tool, ...(compensatedAt !== undefined && { compensatedAt }) }
}

function isStanding(call: Fate, byId: ReadonlyMap<string, Fate>): boolean {
  if (call.leftStanding === true) return true
  return call.status === 'succeeded' && call.compensate === 'none' && !isAnsweredFor(call, byId)
}

export function rollbackStatus(lists: RollbackLists): RollbackStatus {
  if (lists.unknown.length > 0) return 'IN_DOUBT'
  if (lists.failed.length > 0) return 'COMPENSATION_FAILED'
  return lists.standing.length > 0 ? 'PARTLY_COMPENSATED' : 'COMPENSATED'
}

export function isCovered(scope: string | undefined, inner: string | undefined): boolean {
  return scope === undefined || inner === scope || inner?.startsWith(`${scope}/`) === true
}

/** Whether an ancestor declares a compensation, which covers the calls that the ancestor made. */
function isAnsweredFor(call: Fate, byId: ReadonlyMap<string, Fate>): boolean {
  let parent = byId.get(call.parentCall ?? '')
  while (parent !== undefined) {
    if (typeof parent.compensate === 'object' && parent.status !== 'failed') return true
    parent = byId.get(parent.parentCall ?? '')
  }
  return false
}

/** The outcome of a run that was rolled back, from its record. */
export function outcomeIn(run: RecordedRun, runId: string): RunOutcome {
  const lists = listsOf(fatesIn(run), undefined)
  return { runId, status: run.end?.kind === 'compensated' ? run.end.status : rollbackStatus(lists), ...lists }
}

const outcomes = new WeakMap<object, RunOutcome>()

export function noteOutcome(error: unknown, outcome: RunOutcome): void {
  if (typeof error === 'object' && error !== null) outcomes.set(error, outcome)
}

/**
 * The outcome of the run that threw this error; undefined if the error did not end a run.
 * @example
 * ```ts
 * import { open, outcomeOf } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const pay = cs.tool(async (cents: number) => `p-${cents}`, { name: 'pay', compensate: async ({ result }) => `refunded ${result}` })
 * const error = await cs
 *   .run({ name: 'order' }, async () => {
 *     await pay(100)
 *     throw new Error('sold out')
 *   })
 *   .catch((thrown) => thrown)
 * console.log(outcomeOf(error)?.status) // COMPENSATED
 * ```
 */
export function outcomeOf(error: unknown): RunOutcome | undefined {
  return typeof error === 'object' && error !== null ? outcomes.get(error) : undefined
}
