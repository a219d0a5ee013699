/** @module Calls without an outcome, of all runs of a tenant: found by the run list, and read from each run's own state. */
import type { RunState } from '../../../projections/run-state.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { openCalls } from '../../domain/lease.ts'
import type { Caller, Found, OpenCalls, OpenCallsPage, OpenCallsPlace } from '../ledger.ts'
import type { Queries, ShownCall } from './queries.ts'
import type { Reader } from './reader.ts'
import type { RunList } from './run-list.ts'
import { type UnreadableRun, unreadableMember, unreadableRun } from './unreadable.ts'

export interface OpenCallsDeps {
  readonly list: RunList
  readonly queries: Queries
  readonly reader: Reader
}

/** Runs of one page: most calls that run are not in doubt, and a page is an answer also where it holds none. */
const RUNS_MAX = 200
const BEFORE_ALL = -1
const AFTER_ALL = Number.MAX_SAFE_INTEGER

/** Newest run first; within a run in order of claim. */
export async function openCallsOf(
  deps: OpenCallsDeps,
  caller: Caller,
  { inDoubt, after, limit }: OpenCallsPage,
): Promise<Found<OpenCalls>> {
  const filter = { withOpenCalls: true, limit: RUNS_MAX, ...(after && { after }) } as const
  const { items: rows, asOf } = await deps.list.list(caller, filter)
  const runs = rows.map(({ runId, startedAt }) => placeOf(String(startedAt), String(runId), BEFORE_ALL))
  const items: JsonObject[] = []
  const unreadable: UnreadableRun[] = []
  for (const { startedAt, runId, claim } of after === undefined ? runs : [after, ...runs]) {
    await caller.pace?.turn()
    const found = await inRun(deps, caller, { runId, after: claim, limit: limit - items.length, inDoubt })
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
  const last = runs.length < RUNS_MAX ? undefined : runs.at(-1)
  const end = last && { next: { ...last, claim: AFTER_ALL } }
  return { ok: true, revision: 0, value: { items, ...end, asOf, ...unreadableMember(unreadable) } }
}

const placeOf = (startedAt: string, runId: string, claim: number): OpenCallsPlace => ({ startedAt, runId, claim })

interface RunPage extends Pick<OpenCallsPage, 'inDoubt' | 'limit'> {
  readonly runId: string
  readonly after: number
}

function inRun(deps: OpenCallsDeps, caller: Caller, page: RunPage): Promise<Found<JsonObject>> {
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

/** A token of one agent sees what that agent called. */
function openOf(state: RunState, queries: Queries, { agent }: Caller, { after, inDoubt }: RunPage): ShownCall[] {
  return openCalls(state)
    .filter((call) => call.phase !== 'model' && call.claimRevision > after)
    .filter((call) => agent === undefined || call.agent === agent)
    .map((call) => queries.shown(state, call))
    .filter((call) => !inDoubt || isForPeople(call))
    .sort((a, b) => a.claimRevision - b.claimRevision)
}

/** In doubt, and nobody declared that it may be made again. */
function isForPeople({ status, overdue, onUnknown }: ShownCall): boolean {
  return (status === 'in-doubt' || overdue === true) && onUnknown !== 'retry'
}

/** When it was known to be in doubt; of one whose lease is over, when that ended; else when it was claimed. */
async function openSince(reader: Reader, stream: string, call: ShownCall): Promise<string> {
  if (call.overdue === true) return call.leaseUntil
  const at = call.status === 'in-doubt' ? (call.outcomeRevision ?? call.claimRevision) : call.claimRevision
  return (await reader.eventAt(stream, at))?.header.time ?? ''
}
