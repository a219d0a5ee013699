/** @module Calls without an outcome in all runs of a tenant: located by the run list, and read from the state of each run. */
import type { RunState } from '../../../projections/run-state.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { openCalls } from '../../domain/lease.ts'
import { StoreUnavailableError } from '../../store/event-store.ts'
import type { Caller, Found, OpenCalls, OpenCallsPage, OpenCallsPlace, Unsettled } from '../ledger.ts'
import { digestOfCall, type EqualCalls, type OpenCallPlace } from './equal-calls.ts'
import type { Queries, ShownCall } from './queries.ts'
import type { Reader } from './reader.ts'
import type { RunList } from './run-list.ts'
import { type UnreadableRun, unreadableMember, unreadableRun } from './unreadable.ts'

export interface OpenCallsDeps {
  readonly list: RunList
  readonly queries: Queries
  readonly reader: Reader
  readonly equal: EqualCalls
}

/** Maximum number of runs per page. Most open calls are running, and a page of the others may be empty. */
const RUNS_MAX = 200
/** Maximum number of equal calls that are read without pacing. */
const UNPACED_MAX = 8
const RETRY_AFTER_MS = 1_000
const BEFORE_ALL = -1
const AFTER_ALL = Number.MAX_SAFE_INTEGER

/** Newest run first; within a run in order of claim. */
export async function openCallsOf(deps: OpenCallsDeps, caller: Caller, page: OpenCallsPage): Promise<Found<OpenCalls>> {
  if (page.equalTo !== undefined) return equalCallsOf(deps, caller, { ...page, equalTo: page.equalTo })
  const { after } = page
  const { items: rows, asOf } = await deps.list.list(caller, openRuns(after))
  const runs = rows.map(({ runId, startedAt }) => placeOf(String(startedAt), String(runId), BEFORE_ALL))
  const last = runs.length < RUNS_MAX ? undefined : runs.at(-1)
  const rest = last && { ...last, claim: AFTER_ALL }
  const found = await inRuns(deps, caller, page, { runs: after === undefined ? runs : [after, ...runs], rest, asOf })
  if (!found.ok || page.of === undefined || after !== undefined) return found
  const total = await deps.list.total(caller, page.of)
  return { ...found, value: { ...found.value, ...(total && { total }) } }
}

const openRuns = (after: OpenCallsPlace | undefined) =>
  ({ withOpenCalls: true, limit: RUNS_MAX, ...(after && { after }) }) as const

/** Ordered by run id; only runs with an equal call are read. Not tied to a size of the log, which would require waiting for the log. */
async function equalCallsOf(
  deps: OpenCallsDeps,
  caller: Caller,
  page: OpenCallsPage & { readonly equalTo: string },
): Promise<Found<OpenCalls>> {
  const places = await deps.equal.equalTo(caller.tenant, page.equalTo)
  const { after = placeOf('', '', BEFORE_ALL) } = page
  const only = new Set(places.map(({ callId }) => callId))
  const ids = [...new Set(places.map(({ runId }) => runId))].sort().filter((runId) => runId >= after.runId)
  const runs = ids.map((runId) => placeOf('', runId, runId === after.runId ? after.claim : BEFORE_ALL))
  // A claim waits for this result: a small read does not yield to writes as other reads do.
  const { pace, ...unpaced } = caller
  const who = pace === undefined || places.length > UNPACED_MAX ? caller : unpaced
  return inRuns(deps, who, page, { runs, rest: undefined, asOf: undefined, only })
}

/** Every open call of a tenant, for a caller that follows changes from there on. */
export async function* allOpenCalls(
  deps: Omit<OpenCallsDeps, 'equal'>,
  caller: Caller,
): AsyncGenerator<OpenCallPlace, void> {
  let after: OpenCallsPlace | undefined
  do {
    const { items: rows } = await deps.list.list(caller, openRuns(after))
    for (const { runId, startedAt } of rows) {
      after = placeOf(String(startedAt), String(runId), AFTER_ALL)
      const page = { runId: String(runId), after: BEFORE_ALL, limit: AFTER_ALL }
      const found = await inRun(deps, caller, page)
      if (!found.ok && unreadableRun(String(runId), found.refusal) === undefined)
        throw new StoreUnavailableError(found.refusal.detail, RETRY_AFTER_MS)
      if (!found.ok) yield { runId: String(runId), callId: String(runId), digest: undefined }
      else
        for (const call of found.value.items as readonly JsonObject[])
          yield { runId: String(runId), callId: String(call.callId), digest: digestOfCall(call) }
    }
    if (rows.length < RUNS_MAX) return
  } while (after !== undefined)
}

interface Runs {
  readonly runs: readonly OpenCallsPlace[]
  /** Cursor of the runs that come after these. */
  readonly rest: OpenCallsPlace | undefined
  readonly asOf: OpenCalls['asOf']
  /** Ids of the calls to include; all if absent. */
  readonly only?: ReadonlySet<string>
}

async function inRuns(
  deps: OpenCallsDeps,
  caller: Caller,
  { of, limit }: OpenCallsPage,
  { runs, rest, asOf, only }: Runs,
): Promise<Found<OpenCalls>> {
  const items: JsonObject[] = []
  const unreadable: UnreadableRun[] = []
  for (const { startedAt, runId, claim } of runs) {
    await caller.pace?.turn()
    const found = await inRun(deps, caller, { runId, after: claim, limit: limit - items.length, of, only })
    const broken = found.ok ? undefined : unreadableRun(runId, found.refusal)
    if (broken !== undefined) {
      unreadable.push(broken)
      continue
    }
    if (!found.ok) return found
    items.push(...(found.value.items as readonly JsonObject[]))
    const { next = AFTER_ALL } = found.value
    if (items.length >= limit)
      return {
        ...found,
        value: { items, next: placeOf(startedAt, runId, Number(next)), asOf, ...unreadableMember(unreadable) },
      }
  }
  const end = rest && { next: rest }
  return { ok: true, revision: 0, value: { items, ...end, asOf, ...unreadableMember(unreadable) } }
}

const placeOf = (startedAt: string, runId: string, claim: number): OpenCallsPlace => ({ startedAt, runId, claim })

interface RunPage extends Pick<OpenCallsPage, 'limit'> {
  readonly runId: string
  readonly after: number
  readonly of?: Unsettled | undefined
  readonly only?: ReadonlySet<string> | undefined
}

function inRun(deps: Omit<OpenCallsDeps, 'equal'>, caller: Caller, page: RunPage): Promise<Found<JsonObject>> {
  const { queries, reader } = deps
  const { runId, limit } = page
  const stream = runStream(caller.tenant, runId)
  return queries.read(caller, runId, (state) => {
    const open = openOf(state, queries, caller, page)
    const shown = open.slice(0, limit)
    const last = open.length > limit ? shown.at(-1) : undefined
    const { name } = state
    const itemOf = async (call: ShownCall): Promise<JsonObject> => {
      const since = await openSince(reader, stream, call)
      return { runId, run: name, ...(await queries.callBody(stream, call)), since }
    }
    return async () => {
      const items: JsonObject[] = []
      for (const call of shown) items.push(await itemOf(call))
      return { items, ...(last && { next: last.claimRevision }) }
    }
  })
}

/** A token that is bound to one agent sees the calls of that agent only. */
function openOf(state: RunState, queries: Queries, { agent }: Caller, { after, of, only }: RunPage): ShownCall[] {
  return openCalls(state)
    .filter((call) => call.phase !== 'model' && call.claimRevision > after)
    .filter(({ callId }) => only === undefined || only.has(callId))
    .filter((call) => agent === undefined || call.agent === agent)
    .map((call) => queries.shown(state, call))
    .filter((call) => of === undefined || (of === 'overdue' ? call.overdue === true : call.status === of))
    .sort((a, b) => a.claimRevision - b.claimRevision)
}

/** When it was found to be in doubt; for an expired lease, when the lease ended; otherwise when it was claimed. */
async function openSince(reader: Reader, stream: string, call: ShownCall): Promise<string> {
  if (call.overdue === true) return call.leaseUntil
  const at = call.status === 'in-doubt' ? (call.outcomeRevision ?? call.claimRevision) : call.claimRevision
  return (await reader.eventAt(stream, at))?.header.time ?? ''
}
