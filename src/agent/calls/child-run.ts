/** @module A run within a run, as a call of it: identified by its place, served on resume, and undone by rolling the child back (RUN-56 to RUN-58). */
import type { JsonObject } from '../../../schemas/json.ts'
import { AgentError, LedgerRefused, OutcomeUnknown } from '../errors.ts'
import type { RunOutcome } from '../saga/outcome.ts'
import type { Compensation } from './compensation.ts'
import type { CheckResult } from './tool-options.ts'
import { type ToolSpec, toolSpec } from './tool-spec.ts'

const PREFIX = 'cs.run:'

/** The name of the call, which is no tool's. */
export const childToolName = (run: string): string => `${PREFIX}${run}`

export function isChildCall(tool: string): boolean {
  return tool.startsWith(PREFIX)
}

/**
 * A child that is started again is resumed, so that a repeat is safe; whatever it left, a failed one too, its own rollback can tell. It is not cut off: its
 * own code learns of an abort, and ends by itself.
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

/** Rolls a run back; goes on where that was begun. */
export type RollBackChild = (runId: string, reason: string) => Promise<RunOutcome>

/** What undoes the call: the child's own rollback. `call` is the forward call as the ledger lists it. */
export function childCompensation(call: JsonObject, rollBackChild: RollBackChild): Compensation {
  const tool = String(call.tool)
  const forward = childSpec(tool, () => undefined)
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

/** How the child ended, as the record of its parent keeps it. */
type ChildEnd = Pick<RunOutcome, 'runId' | 'status'>

async function rolledBack({ child, callId }: JsonObject, rollBackChild: RollBackChild): Promise<ChildEnd> {
  const compensated = { runId: String(child ?? callId), status: 'COMPENSATED' } as const
  if (typeof child !== 'string') return compensated
  try {
    const { runId, status } = await rollBackChild(child, 'the run that it is a part of is rolled back')
    return { runId, status }
  } catch (error) {
    // Its parent named it, and died before it began.
    if (error instanceof LedgerRefused && error.code === 'run-not-found') return compensated
    throw error
  }
}

/** Throws where some of it could not be undone, or nobody knows. */
function mustBeUndone(end: ChildEnd): ChildEnd {
  const { runId, status } = end
  if (status === 'COMPENSATED' || status === 'PARTLY_COMPENSATED') return end
  const message = `the run ${runId} ended ${status}`
  if (status === 'IN_DOUBT' || status === 'OPEN') throw new OutcomeUnknown(message)
  throw new AgentError('run-rolled-back', message, { runId, status })
}

/** What a rollback that is requested again comes to now. */
function checkOf(end: ChildEnd): CheckResult<unknown> {
  const { status } = end
  if (status === 'COMPENSATED') return { done: true, result: end }
  return status === 'IN_DOUBT' || status === 'OPEN' ? undefined : { done: false }
}
