/** @module Waits of a run as readers see them, now or in the past: what they wait for, until when, and the signal that ended them. */
import { type RunState, safeKey } from '../../../projections/run-state.ts'
import type { WaitState } from '../../../projections/wait-state.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { refusal } from '../../domain/refusal.ts'
import { isOver } from '../../domain/waits.ts'
import { weigh } from '../../resources/memory-budget.ts'
import type { Caller, Found, Ledger } from '../ledger.ts'
import type { Effects } from '../ports.ts'
import { clockAt, type RunAt, type RunPage } from '../run-at.ts'
import type { Queries } from './queries.ts'
import type { Reader } from './reader.ts'
import type { Render } from './run-as-it-was.ts'

/** A page ends with the item that reaches this size: a schema and a payload may take 64 KiB each. */
const PAGE_MAX_BYTES = 4 * 1024 * 1024

interface WaitReadDeps {
  readonly queries: Queries
  readonly reader: Reader
  readonly effects: Pick<Effects, 'nowMs'>
}

export function waitReads(deps: WaitReadDeps): Pick<Ledger, 'waits' | 'wait'> {
  return {
    waits: (caller, runId, page) => waitsOf(deps, caller, { runId, ...page }),
    wait: (caller, runId, waitId, at) => waitOf(deps, caller, { runId, waitId, at }),
  }
}

/** In order of start; `after` is the revision of a start. */
function waitsOf(
  deps: WaitReadDeps,
  caller: Caller,
  { runId, after, limit, at }: RunPage & { readonly runId: string },
): Promise<Found<JsonObject>> {
  const listed: Render<JsonObject> = (state) => {
    const all = Object.values(state.waits).filter(({ revision }) => revision > after)
    const page = all.slice(0, limit).map((wait) => ({ wait: { ...wait }, status: due(deps, state, { wait, at }) }))
    return async () => {
      const items: JsonObject[] = []
      let bytes = 0
      for (const { wait, status } of page) {
        if (bytes >= PAGE_MAX_BYTES) break
        await caller.pace?.turn()
        const item = { ...(await shown(deps, runStream(caller.tenant, runId), wait)), ...status }
        bytes += weigh(item)
        items.push(item)
      }
      const last = page[items.length - 1]?.wait
      return { items, ...(all.length > items.length && last && { next: last.revision }) }
    }
  }
  return deps.queries.read(caller, runId, listed, at)
}

async function waitOf(
  deps: WaitReadDeps,
  caller: Caller,
  { runId, waitId, at }: { readonly runId: string; readonly waitId: string; readonly at: RunAt | undefined },
): Promise<Found<JsonObject>> {
  const one: Render<JsonObject | undefined> = (state) => {
    const wait = state.waits[safeKey(waitId)]
    if (wait === undefined) return undefined
    const [copy, status] = [{ ...wait }, due(deps, state, { wait, at })]
    return async () => ({ ...(await shown(deps, runStream(caller.tenant, runId), copy)), ...status })
  }
  const found = await deps.queries.read(caller, runId, one, at)
  if (!found.ok) return found
  if (found.value !== undefined) return { ...found, value: found.value }
  return { ok: false, refusal: refusal('wait-not-found', `this run has no wait ${waitId}`) }
}

/** `due`: the wait is past its end, but no event has recorded that yet. A run that has ended waits for nothing. */
function due(
  { effects }: WaitReadDeps,
  state: RunState,
  { wait, at }: { readonly wait: WaitState; readonly at: RunAt | undefined },
): { status?: string; due?: true } {
  if (wait.status !== 'waiting') return {}
  if (state.status !== 'open') return { status: 'closed' }
  const nowMs = at === undefined ? effects.nowMs() : clockAt(at, state.time)
  return isOver(wait, state, { nowMs }) ? { due: true } : {}
}

/** The wait with the schema with which it was started, and the payload that ended it. */
async function shown(
  { reader }: WaitReadDeps,
  stream: string,
  { revision, hasSchema, signalRevision, ...rest }: WaitState,
): Promise<JsonObject> {
  const started = hasSchema === true ? await reader.eventAt(stream, revision) : undefined
  const schema = started?.type === 'WaitStarted' ? started.data.schema : undefined
  return {
    ...rest,
    ...(schema !== undefined && { schema }),
    ...(signalRevision !== undefined && { payload: await reader.payloadAt(stream, signalRevision) }),
  }
}
