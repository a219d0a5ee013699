/** @module A step of a pipeline: shows an agent its slice and hands its answer over; if the ledger refuses, the agent may repair it. */
import { callTool } from '../calls/call.ts'
import { AgentError, HandoffRefused } from '../errors.ts'
import type { ExecutionContext } from '../runtime/execution-context.ts'
import { scopeBelow } from '../runtime/scope.ts'
import { type AgentTurn, agentSpec } from './agent-spec.ts'
import { checkStep } from './check-handoff.ts'
import { handOffAt, mustNotBeBranch } from './handoff.ts'
import type { Finding, HandoffResult, Manifest } from './handoff-types.ts'
import { manifestRequest } from './manifest.ts'
import type { StepAgent, StepOptions, StepResult } from './step-types.ts'

/**
 * Runs an agent on its slice of the context and hands its answer over. Throws `handoff-in-branch`, `HandoffRefused` if the ledger refuses the answer and no
 * repair attempt is left, `budget-exceeded` if the budget does not cover the agent's reservation, and the agent's errors.
 */
export async function runStep(
  execution: ExecutionContext,
  agent: string,
  { x, options }: { readonly x: StepAgent; readonly options: StepOptions },
): Promise<StepResult> {
  const { session } = execution
  session.mustBeActive()
  checkStep(agent, options)
  if (typeof x !== 'function' && (typeof x !== 'object' || x === null))
    throw new AgentError('invalid-option', `run.step: what carries ${agent} out is a function or an agent`)
  mustNotBeBranch(execution, agent)
  const repairs = repairsOf(options)
  const manifest = manifestOf(options)
  if (manifest !== undefined) manifestRequest(agent, manifest)
  const scope = scopeBelow(execution, `step:${agent}`)
  // No call is active between the agent's turn and its handoff, so the step itself is tracked for the end of the run.
  return session.joined(`step ${scope}`, `step of ${agent}`, () =>
    turns(
      { ...execution, scope, dedupe: 'position' },
      { agent, x, options, manifest, repairs, dedupe: execution.dedupe },
    ),
  )
}

interface Plan {
  readonly agent: string
  readonly x: StepAgent
  readonly options: StepOptions
  readonly manifest: Manifest | undefined
  readonly repairs: number
  readonly dedupe: ExecutionContext['dedupe']
}

/** Calls the agent until an answer is accepted. */
async function turns(
  at: ExecutionContext,
  { agent, x, options, manifest, repairs, dedupe }: Plan,
): Promise<StepResult> {
  const { session, scope = '' } = at
  let findings: readonly Finding[] = []
  for (let attempt = 1; ; attempt += 1) {
    // On a repair, the agent's calls get the results of the same calls in the previous attempt.
    if (attempt > 1) session.restart(scope)
    const step = { agent, scope, modelCalls: 0 }
    const spec = agentSpec({ session, step, x, options, manifest, attempt, findings, dedupe })
    // The scope is part of the arguments, so that an agent calling one of the same name is not taken for a recursive call.
    const turn = (await callTool(at, spec, { agent, attempt, scope })) as unknown as AgentTurn
    const handed = await handOver(at, { agent, turn, options, manifest })
    if (handed.ok) {
      const { payload, tokens, counter, shown } = turn
      return { envelope: handed.envelope, payload, tokens, counter, shown, attempts: attempt }
    }
    if (attempt > repairs) throw new HandoffRefused(agent, attempt, handed)
    findings = handed.findings
  }
}

function handOver(
  at: ExecutionContext,
  from: { agent: string; turn: AgentTurn; options: StepOptions; manifest: Manifest | undefined },
): Promise<HandoffResult> {
  const { agent, turn, options, manifest } = from
  const { mode = 'extend' } = options
  const { payload, add } = turn
  const beforehand = typeof options.supersedes === 'function' ? options.supersedes(payload) : options.supersedes
  const supersedes = turn.supersedes === undefined ? beforehand : [...(beforehand ?? []), ...turn.supersedes]
  const moves = turn.moves === undefined ? options.moves : [...(options.moves ?? []), ...turn.moves]
  return handOffAt(at, payload, {
    agent,
    mode,
    tokens: turn.tokens,
    ...(add !== undefined && { add }),
    ...(supersedes !== undefined && { supersedes }),
    ...(moves !== undefined && { moves }),
    ...(manifest !== undefined && { manifest }),
  })
}

function repairsOf({ repairs = 0 }: StepOptions): number {
  if (Number.isSafeInteger(repairs) && repairs >= 0) return repairs
  throw new AgentError('invalid-step', `repairs is a whole number from 0, not ${repairs}`)
}

/** `task` and `schema` of the step override those of its manifest. */
function manifestOf({ manifest, task, schema }: StepOptions): Manifest | undefined {
  if (manifest === undefined && task === undefined && schema === undefined) return undefined
  return { ...manifest, ...(task !== undefined && { task }), ...(schema !== undefined && { schema }) }
}
