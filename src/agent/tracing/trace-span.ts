/** @module The interface of a span as the runtime uses it: an OpenTelemetry span, or a trace context that is only passed on. */

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>

export interface SpanStart {
  readonly name: string
  /** `client`: a request to another system. */
  readonly kind: 'internal' | 'client'
  readonly attributes: SpanAttributes
}

/** The operation of a model or agent call; other calls are tool executions. */
export interface ModelOperation {
  readonly operation: 'chat' | 'embeddings' | 'invoke_agent'
  /** Name of the model or agent. */
  readonly name: string
  readonly provider?: string
}

export interface TraceSpan {
  /** W3C Trace Context of this span, version 00, sent with every command executed within it. */
  readonly traceparent: string
  child(start: SpanStart): TraceSpan
  /** Runs `fn` with this span active, so that spans of other libraries become its children. */
  within<T>(fn: () => T): T
  set(attributes: SpanAttributes): void
  /** `failure`: the value of `error.type`, a code or a class name. */
  end(failure?: string): void
}

/** Without an SDK, the trace context of the caller is sent with every command unchanged. */
export function passedOn(traceparent: string): TraceSpan {
  const span: TraceSpan = {
    traceparent,
    child: () => span,
    within: (fn) => fn(),
    set: () => undefined,
    end: () => undefined,
  }
  return span
}
