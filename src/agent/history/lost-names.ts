/** @module Recorded names that the current code no longer has: a recorded call of such a name that is still unserved means a divergence (RUN-22). */
import type { JsonObject } from '../../../schemas/json.ts'
import type { ToolRegistry } from '../calls/tool-spec.ts'
import { type DivergenceCode, ResumeDiverged } from '../errors.ts'
import type { Expected } from '../runtime/held-requests.ts'
import type { RecordedCall } from './recorded-run.ts'

/** Work that the code is about to do for the first time: a call, a handoff or a fork. */
export interface NewWork {
  readonly what: 'call' | 'handoff' | 'fork'
  readonly name: string
  readonly scope: string | undefined
  /** Default: the record does not hold it. */
  readonly expected?: Expected | undefined
}

/** Prefixes of calls that are not registered tools. A new call of the same kind at the place of a recorded one means that the call was renamed. */
const KINDS = ['run.once:', 'run.waitFor:', 'agent:', 'model:', 'cs.run:'] as const
const OWN = /^run\.(now|uuid|sleep|patched:.*)$/s
const SHOWN_MAX = 10

/** Whether the name of a recorded call shows that the current code will never request it. */
export function isLost(call: RecordedCall, registry: Pick<ToolRegistry, 'get'>, work: NewWork): boolean {
  if (OWN.test(call.tool)) return false
  // What was called inside a call that is made again is called again, or is not.
  if (call.parentCall !== undefined && work.expected?.isHeld === true) return false
  const kind = kindOf(call.tool)
  if (kind === undefined) return registry.get(call.tool) === undefined
  if (kindOf(work.name) !== kind || work.name === call.tool) return false
  return parentOf(kind, call.scope) === parentOf(kind, work.scope)
}

function kindOf(tool: string): string | undefined {
  return KINDS.find((kind) => tool.startsWith(kind))
}

/** The scope that contains a call. An agent's turn is in the scope of its step, which is named after the agent, so the last segment is dropped. */
function parentOf(kind: string, scope = ''): string {
  return kind === 'agent:' ? scope.slice(0, Math.max(0, scope.lastIndexOf('/'))) : scope
}

/** The divergence error: it shows the recorded calls and the new work, and says how to declare a rename or a change of the code. */
export function lostNamesFault(lost: readonly RecordedCall[], work: NewWork, code: DivergenceCode): ResumeDiverged {
  const expected = lost.slice(0, SHOWN_MAX).map(({ callId, tool, args, scope }): JsonObject => {
    return { callId, tool, args, scope: scope ?? null }
  })
  const names = [...new Set(lost.map(({ tool }) => tool))].slice(0, SHOWN_MAX).join(', ')
  const message = `the record holds calls of ${names}, which this code does not have, and the code goes on with ${work.name}: nothing was run. A tool that was renamed says alias: ['the old name']; code that changed asks run.patched('id')`
  const actual = { what: work.what, name: work.name, scope: work.scope ?? null }
  return new ResumeDiverged(message, { expected, actual }, code)
}
