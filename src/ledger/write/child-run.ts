/** @module Starts a run as the work of a call of another, linked in both streams (RUN-56). */
import type { Command } from '../../../schemas/commands.ts'
import { isJsonObject } from '../../../schemas/json.ts'
import { withinRun } from '../../access/token-binding.ts'
import { depthBelow, type ParentClaim } from '../../domain/child-run.ts'
import type { Refusal } from '../../domain/refusal.ts'
import type { Caller, Outcome, RequestInfo } from '../ledger.ts'
import type { Queries } from '../read/queries.ts'
import type { WritePath } from './write-path.ts'
import { refused } from './write-refusals.ts'

export type ChildStart = Extract<Command, { kind: 'start' }> & { readonly body: { readonly childOf: ParentClaim } }

export function isChildStart(command: Command): command is ChildStart {
  return command.kind === 'start' && command.body.childOf !== undefined
}

/**
 * Two appends: the link in the parent, then the child. A crash between them is healed by the same request again: the link is made once, and the child has
 * the id that it names.
 */
export async function startChild(
  { write, queries }: { readonly write: WritePath; readonly queries: Queries },
  caller: Caller,
  request: { readonly runId: string; readonly command: ChildStart; readonly info: RequestInfo },
): Promise<Outcome> {
  const { runId, command, info } = request
  const { childOf } = command.body
  const outside = withinRun(caller, childOf.run)
  if (outside !== undefined) return refused(atParent(outside))
  const found = await queries.read(caller, childOf.run, (state) => ({ depth: depthBelow(state) }))
  if (!found.ok) return refused(atParent(found.refusal))
  const parent = { run: childOf.run, callId: childOf.callId, depth: Number(found.value.depth) }
  const start = { ...command, parent }
  // Somebody else's run of this id is refused before the parent names it as its child.
  if (await isForeign(queries, caller, { runId, parent })) return write.execute(caller, runId, start, info)
  const traceparent = info.traceparent === undefined ? {} : { traceparent: info.traceparent }
  const link = { kind: 'child-started', body: { childOf, run: runId } } as const
  const linked = await write.execute(caller, childOf.run, link, traceparent)
  return linked.ok ? write.execute(caller, runId, start, info) : linked
}

async function isForeign(
  queries: Queries,
  caller: Caller,
  { runId, parent }: { readonly runId: string; readonly parent: { readonly run: string; readonly callId: string } },
): Promise<boolean> {
  const known = await queries.read(caller, runId, ({ childOf }) => ({ childOf: childOf ?? null }))
  if (!known.ok) return false
  const { childOf = null } = known.value
  return !(isJsonObject(childOf) && childOf.run === parent.run && childOf.callId === parent.callId)
}

function atParent(refusal: Refusal): Refusal {
  return { ...refusal, pointer: '/childOf/run' }
}
