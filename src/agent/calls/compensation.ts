/** @module The compensation of a call, resolved before anything is undone. */
import type { JsonObject } from '../../../schemas/json.ts'
import { isDigestOnly, notOnRecord } from './stored-value.ts'
import type { CallContext, CheckResult, Undo } from './tool-options.ts'
import type { ToolRegistry, ToolSpec } from './tool-spec.ts'

export interface Compensation {
  readonly tool: string
  readonly forward: ToolSpec
  /** Provides timeout, backoff and codecs: the named tool's spec, otherwise the forward tool's. */
  readonly own: ToolSpec
  readonly onUnknown: 'retry' | 'in-doubt'
  readonly run: (undo: Undo<unknown, unknown>, context: CallContext) => unknown
  /** Given the result of the compensation: whether a part of the call's effects remains and will not be undone. */
  readonly leavesStanding?: (result: unknown) => boolean
  /** Whether the call was undone; absent if this cannot be determined. */
  readonly check?: (
    undo: Undo<unknown, unknown>,
    context: { readonly idempotencyKey: string },
  ) => CheckResult<unknown> | Promise<CheckResult<unknown>>
}

/** Undefined if this process has no compensation for the tool. */
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

/** The arguments and result that the compensation receives. `call` is the forward call as the ledger lists it. */
export function undoPlan({ forward }: Compensation, call: JsonObject): Undo<unknown, unknown> {
  const { codecs } = forward
  const args = codecs.decode(call.args ?? null)
  if (!isDigestOnly(call)) return { args, result: codecs.decode(call.result ?? null) }
  return {
    args,
    // A getter: only a compensation that reads the result fails.
    get result(): unknown {
      throw notOnRecord(forward.name, String(call.callId))
    },
  }
}

/** A tool that undoes another receives `{args, result}` as its single argument. */
function namedArgs(tool: ToolSpec, what: Undo<unknown, unknown>): unknown {
  return tool.takes === 'list' ? [what] : what
}
