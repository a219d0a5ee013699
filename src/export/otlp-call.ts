/** @module Spans of calls: tools, compensations, models, and usage that belongs to no call. */
import type { JsonObject } from '../../schemas/json.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import { textOf } from './format.ts'
import { linkOf, SPAN_KIND, SPAN_STATUS, type Span, type SpanLink } from './otlp-span.ts'
import { runOf } from './run-of.ts'

/** A claim without an outcome so far. */
export interface OpenCall {
  readonly stream: string
  readonly key: string
  readonly parentKey: string
  readonly callId: string
  readonly tool: string
  readonly phase: string
  readonly agent: string | undefined
  readonly fence: number
  readonly start: string
  readonly link: SpanLink | undefined
  /** Attributes of its usage so far. */
  usage: Span['attributes']
  last: string
}

export function openCall({ header, data }: LedgerEvent, parentKey: string): OpenCall {
  const callId = textOf(data, 'callId') ?? ''
  const fence = typeof data.fence === 'number' ? data.fence : 1
  return {
    stream: header.stream,
    key: `call:${callId}:${fence}`,
    parentKey,
    callId,
    tool: textOf(data, 'tool') ?? '',
    phase: textOf(data, 'phase') ?? 'forward',
    agent: textOf(data, 'agent'),
    fence,
    start: header.time,
    link: linkOf(header.traceparent),
    usage: {},
    last: header.time,
  }
}

export interface CallEnd {
  readonly end: string
  readonly outcome: string
  readonly error?: string
}

export function callSpan(call: OpenCall, { end, outcome, error }: CallEnd): Span {
  const model = call.phase === 'model'
  const modelName = String(call.usage['gen_ai.request.model'] ?? call.tool)
  const known = outcome !== 'open' && outcome !== 'unknown'
  return {
    stream: call.stream,
    key: call.key,
    parentKey: call.parentKey,
    name: model ? `chat ${modelName}` : `execute_tool ${call.tool}`,
    kind: model ? SPAN_KIND.client : SPAN_KIND.internal,
    start: call.start,
    end,
    attributes: {
      'gen_ai.operation.name': model ? 'chat' : 'execute_tool',
      'gen_ai.conversation.id': runOf(call.stream),
      ...(!model && { 'gen_ai.tool.name': call.tool, 'gen_ai.tool.type': 'function' }),
      'gen_ai.tool.call.id': model ? undefined : call.callId,
      'gen_ai.agent.name': call.agent,
      'openinference.span.kind': model ? 'LLM' : 'TOOL',
      'countersign.call.id': call.callId,
      'countersign.call.phase': call.phase,
      'countersign.call.fence': call.fence,
      'countersign.call.outcome': outcome,
      ...call.usage,
      'error.type': error ?? (known ? undefined : 'outcome_unknown'),
    },
    status: error === undefined ? (known ? SPAN_STATUS.ok : SPAN_STATUS.unset) : SPAN_STATUS.error,
    link: call.link,
  }
}

/** Usage of a model that was reported without a call. */
export function usageSpan({ header, data }: LedgerEvent, parentKey: string): Span {
  const attributes = usageAttributes(data.usage as JsonObject)
  const model = attributes['gen_ai.request.model']
  return {
    stream: header.stream,
    key: `usage:${header.revision}`,
    parentKey,
    name: model === undefined ? 'chat' : `chat ${String(model)}`,
    kind: SPAN_KIND.client,
    start: header.time,
    end: header.time,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.conversation.id': runOf(header.stream),
      'gen_ai.agent.name': textOf(data, 'agent'),
      'openinference.span.kind': 'LLM',
      'countersign.event.id': header.id,
      ...attributes,
    },
    status: SPAN_STATUS.unset,
    link: linkOf(header.traceparent),
  }
}

/** OpenInference has costs in US dollars as a double; the exact amount is added as text. */
export function usageAttributes(usage: JsonObject | undefined): Span['attributes'] {
  if (usage === undefined) return {}
  const { tokens, inputTokens, outputTokens } = usage
  const cost = textOf(usage, 'cost')
  const currency = textOf(usage, 'currency')
  const model = textOf(usage, 'model')
  return {
    'gen_ai.provider.name': textOf(usage, 'provider'),
    'gen_ai.request.model': model,
    'llm.model_name': model,
    'gen_ai.usage.input_tokens': numberOf(inputTokens),
    'gen_ai.usage.output_tokens': numberOf(outputTokens),
    'llm.token_count.total': numberOf(tokens),
    'llm.cost.total': cost !== undefined && currency === 'USD' ? { double: Number(cost) } : undefined,
    'countersign.usage.cost': cost === undefined ? undefined : `${cost} ${currency ?? ''}`.trim(),
  }
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}
