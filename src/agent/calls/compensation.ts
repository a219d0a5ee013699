/** @module What undoes a call of a tool, and what is known of that: settled before anything is undone. */
import type { JsonObject } from '../../../schemas/json.ts'
import { isDigestOnly, notOnRecord } from './stored-value.ts'
import type { CallContext, CheckResult, Undo } from './tool-options.ts'
import type { ToolRegistry, ToolSpec } from './tool-spec.ts'

export interface Compensation {
  readonly tool: string
  readonly forward: ToolSpec
  /** Its time limit, backoff and codecs: the named tool's, else the forward tool's. */
  readonly own: ToolSpec
  readonly onUnknown: 'retry' | 'in-doubt'
  readonly run: (undo: Undo<unknown, unknown>, context: CallContext) => unknown
  /** Of its result: some of what was done stands, and nobody undoes it. */
  readonly leavesStanding?: (result: unknown) => boolean
  /** Whether it was undone; absent: nobody can tell. */
  readonly check?: (
    undo: Undo<unknown, unknown>,
    context: { readonly idempotencyKey: string },
  ) => CheckResult<unknown> | Promise<CheckResult<unknown>>
}

/** Undefined where nobody here can undo calls of this tool. */
export function compensationOf(registry: Pick<ToolRegistry, 'get'>, tool: string): Compensation | undefined {
  const forward = registry.get(tool)
  if (forward?.compensate.kind === 'inline') {
    const { tool: name, undo, onUnknown = forward.onUnknown, check } = forward.compensate
    return { tool: name, forward, own: forward, onUnknown, run: undo, ...(check !== undefined && { check }) }
  }
  const undoing = forward?.compensate.kind === 'named' ? registry.get(forward.compensate.tool) : undefined
  if (forward === undefined || undoing === undefined) return undefined
  const { check } = undoing
  return {
    tool: undoing.name,
    forward,
    own: undoing,
    onUnknown: undoing.onUnknown,
    run: (what, context) => undoing.execute(namedArgs(undoing, what), context),
    ...(check !== undefined && { check: (what, context) => check(namedArgs(undoing, what), context) }),
  }
}

/** What was done, as the compensation gets it. `call` is the forward call as the ledger lists it. */
export function undoPlan({ forward }: Compensation, call: JsonObject): Undo<unknown, unknown> {
  const { codecs } = forward
  const args = codecs.decode(call.args ?? null)
  if (!isDigestOnly(call)) return { args, result: codecs.decode(call.result ?? null) }
  return {
    args,
    // Only whoever reads it needs it.
    get result(): unknown {
      throw notOnRecord(forward.name, String(call.callId))
    },
  }
}

/** A tool that undoes another gets `{args, result}` as its one argument. */
function namedArgs(tool: ToolSpec, what: Undo<unknown, unknown>): unknown {
  return tool.takes === 'list' ? [what] : what
}
