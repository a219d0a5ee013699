/** @module Spans of calls, compensations and handoffs, named by the OpenTelemetry semantic conventions for generative AI (RUN-72, RUN-73). */
import type { Usage } from '../../../schemas/values.ts'
import type { CallIdentity } from '../calls/call-identity.ts'
import type { CallTrace } from '../calls/call-trace.ts'
import type { Attempted } from '../calls/execute-call.ts'
import { currentExecution, type ExecutionContext, runWithin } from '../runtime/execution-context.ts'
import { failureTypeOf, spanned } from './spanned.ts'
import type { ModelOperation, SpanAttributes, SpanStart } from './trace-span.ts'

/** Executes a call within its own span. */
export function inCallSpan<T>(
  identity: CallIdentity,
  trace: CallTrace,
  work: (at: CallIdentity) => Promise<T>,
): Promise<T> {
  if (identity.execution.span === undefined) return work(identity)
  return inSpan(
    identity.execution,
    startOf(identity),
    (execution) => work({ ...identity, execution }),
    () => ({
      attributes: {
        [callIdName(identity)]: trace.callId,
        // The call was not executed: its outcome was recorded earlier.
        'countersign.replayed': trace.callId !== undefined && trace.carriedOut !== true ? true : undefined,
        'countersign.call.attempts': trace.carriedOut === true ? trace.attempts : undefined,
      },
    }),
  )
}

function startOf({ spec, tool, phase, execution }: CallIdentity): SpanStart {
  const agent = spec.agent ?? execution.step?.agent
  const shared = {
    'gen_ai.conversation.id': execution.session.runId,
    'countersign.call.phase': phase,
    ...(agent !== undefined && { 'gen_ai.agent.name': agent }),
  }
  return spec.operation === undefined ? toolStart(tool, shared) : modelStart(spec.operation, shared)
}

export function toolStart(tool: string, shared: SpanAttributes): SpanStart {
  return {
    name: `execute_tool ${tool}`,
    kind: 'internal',
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': tool,
      'gen_ai.tool.type': 'function',
      ...shared,
    },
  }
}

function modelStart({ operation, name, provider }: ModelOperation, shared: SpanAttributes): SpanStart {
  const ofWhat = operation === 'invoke_agent' ? 'gen_ai.agent.name' : 'gen_ai.request.model'
  return {
    name: `${operation} ${name}`,
    kind: operation === 'invoke_agent' ? 'internal' : 'client',
    attributes: {
      'gen_ai.operation.name': operation,
      ...shared,
      [ofWhat]: name,
      'gen_ai.provider.name': provider,
    },
  }
}

function callIdName({ spec }: CallIdentity): string {
  return spec.operation === undefined ? 'gen_ai.tool.call.id' : 'countersign.call.id'
}

/** Set only for calls that ran now, so that a sum of tokens over traces counts each call once. */
export function usageAttributes(usage: Usage | undefined): SpanAttributes {
  if (usage === undefined) return {}
  const { inputTokens, outputTokens, cost, currency } = usage
  return {
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    'countersign.usage.cost': cost === undefined ? undefined : `${cost} ${currency ?? ''}`.trim(),
    'countersign.usage.estimated': usage.estimated === true ? true : undefined,
  }
}

/** Runs `work` in a child span of the current span, if there is one. `describe` supplies the final attributes; after an error it gets no value. */
export function inSpan<T>(
  execution: ExecutionContext,
  start: SpanStart,
  work: (at: ExecutionContext) => Promise<T>,
  describe: (value?: T) => { readonly attributes: SpanAttributes; readonly failure?: string | undefined },
): Promise<T> {
  const span = execution.span?.child(start)
  if (span === undefined) return work(execution)
  const within = { ...execution, span }
  return spanned(span, () => runWithin(within, () => work(within)), describe)
}

/** The span of one attempt of a compensation, below the span of the code that rolls back. */
export function inCompensationSpan(
  place: ExecutionContext,
  { tool, callId, runId }: { readonly tool: string; readonly callId: string; readonly runId: string },
  work: (at: ExecutionContext) => Promise<Attempted>,
): Promise<Attempted> {
  const span = currentExecution()?.span
  const start = toolStart(tool, {
    'gen_ai.conversation.id': runId,
    'gen_ai.tool.call.id': callId,
    'countersign.call.phase': 'compensation',
  })
  return inSpan(span === undefined ? place : { ...place, span }, start, work, (attempted) => ({
    attributes: {},
    failure: attempted === undefined || attempted.kind === 'succeeded' ? undefined : failureTypeOf(attempted.error),
  }))
}
