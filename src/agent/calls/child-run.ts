/** @module A nested run as a call of its parent run: identified by its place, served on resume, and undone by rolling the child back (RUN-56 to RUN-58). */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { AgentError, LedgerRefused, OutcomeUnknown } from '../errors.ts'
import type { RunOutcome } from '../saga/outcome.ts'
import type { Compensation } from './compensation.ts'
import type { CheckResult } from './tool-options.ts'
import { type ToolSpec, toolSpec } from './tool-spec.ts'

const PREFIX = 'cs.run:'

/** Name of the call; no tool can have it. */
export const childToolName = (run: string): string => `${PREFIX}${run}`

export function isChildCall(tool: string): boolean {
  return tool.startsWith(PREFIX)
}

/**
 * Starting a child again resumes it, so a retry is safe. Its own rollback undoes whatever it left, also after a failure. The child is not cut off: an abort is
 * passed to its code, which ends on its own.
 */
export function childSpec(tool: string, execute: ToolSpec['execute']): ToolSpec {
  return {
    ...toolSpec(
      { name: tool, input: undefined, takes: 'value', execute },
      { dedupe: 'position', onUnknown: 'retry', compensateUnknown: true, compensationRetries: 0 },
    ),
    compensate: { kind: 'named', tool: `${tool}.compensate` },
    compensateFailed: true,
    isRun: true,
  }
}

/** The call of a run within a run if its code is not run again. If the child has ended, that end counts; otherwise it is rolled back, and the call fails. */
export function leftChildSpec(call: JsonObject, { outputOf, rollBackChild, codecs }: LeftChild): ToolSpec {
  const tool = String(call.tool)
  const execute = async (): Promise<unknown> => {
    const { child } = call
    const output = typeof child === 'string' ? await outputOf(child).catch(unlessUnstarted) : undefined
    if (output !== undefined) return codecs.decode(output)
    mustBeUndone(await rolledBack(call, rollBackChild))
    throw Object.assign(new Error(`${tool} was given up: its code is not run again`), { code: GIVEN_UP })
  }
  return { ...childSpec(tool, execute), codecs }
}

interface LeftChild {
  readonly rollBackChild: RollBackChild
  readonly codecs: ToolSpec['codecs']
  /** Output of the run, if it has completed. */
  readonly outputOf: (runId: string) => Promise<Json | undefined>
}

/** Code of the failure of a call that nothing waits for and that is not made again. */
export const GIVEN_UP = 'branch-given-up'

/** Rolls a run back, or continues a rollback that was started. */
export type RollBackChild = (runId: string, reason: string) => Promise<RunOutcome>

/** The compensation of the call is the rollback of the child. `call` is the forward call as the ledger lists it. */
export function childCompensation(
  call: JsonObject,
  { rollBackChild, codecs }: { readonly rollBackChild: RollBackChild; readonly codecs: ToolSpec['codecs'] },
): Compensation {
  const tool = String(call.tool)
  const forward = { ...childSpec(tool, () => undefined), codecs }
  const undone = (): Promise<ChildEnd> => rolledBack(call, rollBackChild)
  return {
    tool: `${tool}.compensate`,
    forward,
    own: forward,
    onUnknown: 'in-doubt',
    run: async () => mustBeUndone(await undone()),
    check: async () => checkOf(await undone()),
    leavesStanding: (end) => (end as ChildEnd).status === 'PARTLY_COMPENSATED',
  }
}

/** The end of the child as recorded in its parent. */
type ChildEnd = Pick<RunOutcome, 'runId' | 'status'>

async function rolledBack({ child, callId }: JsonObject, rollBackChild: RollBackChild): Promise<ChildEnd> {
  const compensated = { runId: String(child ?? callId), status: 'COMPENSATED' } as const
  if (typeof child !== 'string') return compensated
  try {
    const { runId, status } = await rollBackChild(child, 'the run that it is a part of is rolled back')
    return { runId, status }
  } catch (error) {
    unlessUnstarted(error)
    return compensated
  }
}

/** The process stopped after the parent had recorded the child's id and before the child was started. */
function unlessUnstarted(error: unknown): undefined {
  if (!(error instanceof LedgerRefused && error.code === 'run-not-found')) throw error
}

/** Throws if a part of the child could not be undone, or if that is unknown. */
function mustBeUndone(end: ChildEnd): ChildEnd {
  const { runId, status } = end
  if (status === 'COMPENSATED' || status === 'PARTLY_COMPENSATED') return end
  const message = `the run ${runId} ended ${status}`
  if (status === 'IN_DOUBT' || status === 'OPEN') throw new OutcomeUnknown(message)
  throw new AgentError('run-rolled-back', message, { runId, status })
}

/** The result of a repeated rollback, as the answer of a check. */
function checkOf(end: ChildEnd): CheckResult<unknown> {
  const { status } = end
  if (status === 'COMPENSATED') return { done: true, result: end }
  return status === 'IN_DOUBT' || status === 'OPEN' ? undefined : { done: false }
}
