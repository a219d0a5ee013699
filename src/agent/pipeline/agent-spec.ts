/** @module An agent's turn as a call of phase `model`: claimed with a token reservation, settled with the answer, served on resume and replay. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { parsePointer } from '../../../schemas/json-pointer.ts'
import type { Usage } from '../../../schemas/values.ts'
import { CALL_VALUE, recordable } from '../calls/recordable.ts'
import { inFull } from '../calls/spending.ts'
import type { CallContext, ToolOptions } from '../calls/tool-options.ts'
import { type ToolSpec, toolSpec } from '../calls/tool-spec.ts'
import { AgentError } from '../errors.ts'
import type { ExecutionContext } from '../runtime/execution-context.ts'
import type { Session } from '../runtime/session.ts'
import type { StepFrame } from '../runtime/step-frame.ts'
import { askAgent, isFramework } from './ask-agent.ts'
import { contextForTurn, register } from './handoff.ts'
import type { Declaration, Finding, Manifest, Supersession } from './handoff-types.ts'
import { manifestRequest } from './manifest.ts'
import { readable, type SliceReport, sliceOf } from './slice.ts'
import { byRecency } from './slicers/recency.ts'
import type { StepAgent, StepOptions } from './step-types.ts'

/** The recorded content of an agent's turn. */
export interface AgentTurn {
  readonly payload: JsonObject
  readonly tokens: number
  readonly counter: string
  readonly shown: SliceReport
  readonly usage?: Usage
  /** Supersessions that the agent declared. */
  readonly supersedes?: readonly Supersession[]
  /** Moving paths that the agent declared. */
  readonly moves?: readonly Declaration[]
  /** Members that the agent adds to lists of the context. */
  readonly add?: JsonObject
}

export interface Turn {
  readonly session: Session
  readonly step: StepFrame
  readonly x: StepAgent
  readonly options: StepOptions
  readonly manifest: Manifest | undefined
  readonly attempt: number
  readonly findings: readonly Finding[]
  /** How equal calls are distinguished at the place of the step. */
  readonly dedupe: ExecutionContext['dedupe']
}

/** Short, because a turn is safe to repeat after its process died. Renewed while the agent works. */
const LEASE_MS = 15_000
/** Deadline of the reservation: after it, the reserved amount counts as used until the turn reports its usage, so that a dead turn does not block the run. */
const HOLD_MS = LEASE_MS

export function agentSpec(turn: Turn): ToolSpec {
  const { step, x, options, manifest, dedupe } = turn
  const { retries, backoff, timeout } = options
  let gaveUp = false
  const behaviour: ToolOptions = {
    compensate: 'not-needed',
    // A turn has no effects, so one with an unknown outcome is repeated.
    onUnknown: 'retry',
    // A turn that this process abandoned has failed. A turn whose process died may have started and cost something, so its check cannot tell.
    check: () => (gaveUp ? { done: false } : undefined),
    leaseMs: LEASE_MS,
    ...(retries !== undefined && { retries }),
    ...(backoff !== undefined && { backoff }),
    ...(timeout !== undefined && { timeout }),
  }
  const execute = (_: unknown, { signal }: CallContext): Promise<AgentTurn> => {
    signal.addEventListener('abort', () => {
      gaveUp = true
    })
    return takeTurn(turn, signal)
  }
  const spec = toolSpec({ name: `agent:${step.agent}`, input: undefined, takes: 'value', execute }, behaviour)
  const tokens = manifest?.maxTokens
  return {
    ...spec,
    phase: 'model',
    operation: { operation: 'invoke_agent', name: step.agent },
    agent: step.agent,
    inside: { dedupe: isFramework(x) ? 'position' : dedupe, step },
    ...(tokens !== undefined && { reserve: { agent: step.agent, tokens, deadlineMs: HOLD_MS } }),
    // A turn that was abandoned may have cost the whole reservation.
    usageOfFailure: ({ kind }, { reserved }) =>
      kind === 'unknown' && step.modelCalls === 0 ? inFull(reserved) : undefined,
    usage: (inputs) => (step.modelCalls > 0 ? usageBeside(tokens) : usageOf(inputs as AgentTurn)),
  }
}

/** The model calls inside the turn have reported their usage: nothing more is charged, even if the deadline of the reservation has passed. */
function usageBeside(tokens: number | undefined): Usage | undefined {
  return tokens === undefined ? undefined : { tokens: 0, estimated: true }
}

function usageOf({ usage, tokens }: AgentTurn): Usage {
  return usage ?? { tokens, outputTokens: tokens, estimated: true }
}

async function takeTurn(turn: Turn, signal: AbortSignal): Promise<AgentTurn> {
  const { session, step, x, options, manifest, attempt, findings } = turn
  const { agent } = step
  // A manifest that the ledger refuses is reported before the agent has cost anything.
  if (manifest !== undefined) await register(session, manifestRequest(agent, manifest))
  const counter = await session.counter()
  const { established, suspects } = await contextForTurn(session)
  const context = readable(established.context, manifest?.reads)
  const task = manifest?.task
  const maxTokens = options.sliceTokens ?? manifest?.maxTokens
  const present = new Set(Object.keys(context))
  const recency = session.pipeline.view.recency().filter((key) => present.has(key))
  const request = { recency, task, agent, maxTokens }
  const { slice, report } = await sliceOf(context, { slicer: options.slice ?? byRecency(), request, counter })
  const inSlice = suspects.filter(({ path }) => Object.hasOwn(slice, parsePointer(path)?.[0] ?? ''))
  const reported = { agent, task, attempt, findings, shown: report, suspects: inSlice, signal }
  const answer = await askAgent(x, { slice, context: reported }, options)
  const inputs: AgentTurn = {
    payload: answer.payload,
    tokens: counter.count(answer.text),
    counter: counter.name,
    shown: report,
    ...(answer.usage !== undefined && { usage: answer.usage }),
    ...(answer.supersedes !== undefined && { supersedes: answer.supersedes }),
    ...(answer.moves !== undefined && { moves: answer.moves }),
    ...(answer.add !== undefined && { add: answer.add }),
  }
  return mustBeRecordable(inputs, agent)
}

/** Checked before the turn is settled: an agent whose answer cannot be recorded has failed, and the run continues. */
function mustBeRecordable(turn: AgentTurn, agent: string): AgentTurn {
  const recorded = recordable(turn, undefined, CALL_VALUE)
  if (recorded.ok) return recorded.value as unknown as AgentTurn
  throw new AgentError('invalid-output', `what ${agent} gave cannot be recorded: ${recorded.reason}`, {
    agent,
  } satisfies {
    agent: Json
  })
}
