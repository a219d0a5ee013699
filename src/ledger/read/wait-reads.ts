/** @module Waits of a run as whoever asks sees them: what for, until when, and with which signal they ended. */
import { type RunState, slot } from '../../../projections/run-state.ts'
import type { WaitState } from '../../../projections/wait-state.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { refusal } from '../../domain/refusal.ts'
import { isOver } from '../../domain/waits.ts'
import { weigh } from '../../resources/memory-budget.ts'
import type { Caller, Found, Ledger } from '../ledger.ts'
import type { Effects } from '../ports.ts'
import type { Queries } from './queries.ts'
import type { Reader } from './reader.ts'

/** A page ends with the item that reaches this: a schema and a payload may hold 64 KiB each. */
const PAGE_MAX_BYTES = 4 * 1024 * 1024

interface WaitReadDeps {
  readonly queries: Queries
  readonly reader: Reader
  readonly effects: Pick<Effects, 'nowMs'>
}

export function waitReads(deps: WaitReadDeps): Pick<Ledger, 'waits' | 'wait'> {
  return {
    waits: (caller, runId, page) => waitsOf(deps, caller, { runId, ...page }),
    wait: (caller, runId, waitId) => waitOf(deps, caller, { runId, waitId }),
  }
}

/** In order of start; `after` is the start's revision. */
function waitsOf(
  deps: WaitReadDeps,
  caller: Caller,
  { runId, after, limit }: { readonly runId: string; readonly after: number; readonly limit: number },
): Promise<Found<JsonObject>> {
  return deps.queries.read(caller, runId, (state) => {
    const listed = Object.values(state.waits).filter(({ revision }) => revision > after)
    const asked = listed.slice(0, limit).map((wait) => ({ wait: { ...wait }, now: due(deps, state, wait) }))
    return async () => {
      const items: JsonObject[] = []
      let bytes = 0
      for (const { wait, now } of asked) {
        if (bytes >= PAGE_MAX_BYTES) break
        await caller.pace?.turn()
        const item = { ...(await shown(deps, runStream(caller.tenant, runId), wait)), ...now }
        bytes += weigh(item)
        items.push(item)
      }
      const last = asked[items.length - 1]?.wait
      return { items, ...(listed.length > items.length && last && { next: last.revision }) }
    }
  })
}

async function waitOf(
  deps: WaitReadDeps,
  caller: Caller,
  { runId, waitId }: { readonly runId: string; readonly waitId: string },
): Promise<Found<JsonObject>> {
  const found = await deps.queries.read(caller, runId, (state) => {
    const wait = state.waits[slot(waitId)]
    if (wait === undefined) return {}
    const [then, now] = [{ ...wait }, due(deps, state, wait)]
    return async () => ({ ...(await shown(deps, runStream(caller.tenant, runId), then)), ...now })
  })
  if (!found.ok || found.value.waitId !== undefined) return found
  return { ok: false, refusal: refusal('wait-not-found', `this run has no wait ${waitId}`) }
}

/** Past its end, and no event says so yet; in a run that has ended nothing is waited for. */
function due({ effects }: WaitReadDeps, state: RunState, wait: WaitState): { status?: string; due?: true } {
  if (wait.status !== 'waiting') return {}
  if (state.status !== 'open') return { status: 'closed' }
  return isOver(wait, state, { nowMs: effects.nowMs() }) ? { due: true } : {}
}

/** With the schema that it was started with, and the payload that ended it. */
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
