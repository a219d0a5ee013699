/** @module Runs one branch in this process and builds its report. */
import { isJsonObject, type JsonObject } from '../../../schemas/json.ts'
import type { ReportBranch } from '../../../schemas/requests.ts'
import { inCanonicalOrder } from '../../signing/canonical-json.ts'
import { recordable } from '../calls/recordable.ts'
import { AgentError, clip, failureOf, LedgerRefused } from '../errors.ts'
import { delegatedIn, delegatedText, type HandedOver } from '../pipeline/delegated.ts'
import { type ExecutionContext, runWithin } from '../runtime/execution-context.ts'
import type { StepFrame } from '../runtime/step-frame.ts'
import { thrownReason } from '../thrown.ts'
import { isTooLarge, notRecordable, tooLargeFailure } from '../too-large.ts'
import type { ForkOptions } from './fork-types.ts'
import type { PlannedBranch } from './plan-fork.ts'

export interface BranchRun<Run> {
  readonly execution: ExecutionContext
  readonly planned: PlannedBranch<Run>
  /** The forks inside of which it runs, its own last. */
  readonly forks: readonly object[]
  /** Creates the run object for an execution context. */
  readonly runOf: (execution: ExecutionContext) => Run
  readonly frozen: JsonObject
  readonly signal: AbortSignal
  /** Aborted when another branch has won. */
  readonly abandoned: AbortSignal
  readonly score: Extract<ForkOptions, { join: 'vote' }>['score']
}

const THROWN_MAX_CHARS = 500

export type Reported = Omit<ReportBranch, 'branch' | 'runFence'>

/** Returns the report of the branch. Throws only errors that halt the whole run. */
export async function runBranch<Run>(running: BranchRun<Run>): Promise<Reported> {
  const { execution, planned, signal } = running
  const { session } = execution
  try {
    // A branch hands over its return value, like a step: its calls are attributed to its agent.
    const step = { agent: planned.agent, scope: planned.scope, modelCalls: 0 }
    const delegated = outputOf(await carried(running, step), planned.agent)
    const { payload: output, add, supersedes: supersessions = [], moves: declarations = [] } = delegated
    const tokens = step.modelCalls > 0 ? undefined : (await session.counter()).count(textOf(delegated))
    const score = await running.score?.(output, { name: planned.name, agent: planned.agent })
    if (score !== undefined && !Number.isFinite(score)) {
      throw new AgentError('invalid-score', `the score of ${planned.name} is ${score}`, { branch: planned.name })
    }
    // The score function runs outside of the branch.
    const heldUp = running.score === undefined ? session.isHeldUp(planned.scope) : session.halted !== undefined
    if (heldUp) throw session.halted
    const supersedes = [...(planned.branch.supersedes ?? []), ...supersessions]
    const moves = [...(planned.branch.moves ?? []), ...declarations]
    return {
      output,
      ...(add !== undefined && { add }),
      ...(score !== undefined && { score }),
      ...(tokens !== undefined && { tokens }),
      ...(supersedes.length > 0 && { supersedes }),
      ...(moves.length > 0 && { moves }),
    }
  } catch (error) {
    if (session.halted !== undefined) throw session.halted
    const diverged = signal.aborted ? undefined : await divergenceBy(running, error)
    if (diverged !== undefined) throw diverged
    if (signal.aborted) return { aborted: { reason: failureOf(signal.reason).message.slice(0, 1_000) } }
    // An oversized value is a failure of the branch, whether the ledger or this process detected it.
    if (isTooLarge(error)) return { error: tooLargeFailure(error) }
    return error instanceof LedgerRefused ? { refused: failureOf(error) } : { error: failureOf(error) }
  }
}

/** The divergence of a branch whose code throws earlier than the recorded one, as for the code of a run (RUN-245). */
async function divergenceBy<Run>(
  { execution, planned, forks, signal }: BranchRun<Run>,
  thrown: unknown,
): Promise<unknown> {
  const { session } = execution
  const branch = { scope: planned.scope, signal, forks }
  const diverged = await session.neverRequested(clip(thrownReason(thrown), THROWN_MAX_CHARS), branch)
  if (diverged !== undefined) diverged.cause = thrown
  return diverged ?? session.halted
}

function carried<Run>(
  { execution, planned, forks, runOf, frozen, signal, abandoned }: BranchRun<Run>,
  step: StepFrame,
): Promise<unknown> {
  const { name, agent, scope, branch } = planned
  const inner: ExecutionContext = {
    session: execution.session,
    scope,
    dedupe: execution.dedupe,
    ancestors: execution.ancestors,
    branch: { scope, signal, abandoned, forks },
    step,
  }
  const run = runOf(inner)
  const context = shown(frozen, branch.manifest?.reads)
  return runWithin(inner, async () => branch.run(context, { name, agent, signal, run }))
}

/** A copy, so that changes by one branch are invisible to the others. */
function shown(frozen: JsonObject, reads: readonly string[] | undefined): JsonObject {
  const entries = Object.entries(inCanonicalOrder(frozen) as JsonObject)
  return Object.fromEntries(reads === undefined ? entries : entries.filter(([key]) => reads.includes(key)))
}

/** The text whose tokens are counted if the branch made no model call; model calls have reported their own usage. */
function textOf(delegated: HandedOver): string {
  const { text, ...rest } = delegated.payload
  const isText = typeof text === 'string' && Object.keys(rest).length === 0 && delegated.add === undefined
  return isText ? text : delegatedText(delegated)
}

function outputOf(value: unknown, agent: string): HandedOver {
  const recorded = recordable(typeof value === 'string' ? { text: value } : value)
  if (!recorded.ok) throw notRecordable(`what ${agent} hands over`, recorded, { code: 'context-too-large', agent })
  if (isJsonObject(recorded.value)) return delegatedIn(recorded.value, agent)
  throw new AgentError('not-recordable', `what ${agent} hands over is no JSON object`, { agent })
}
