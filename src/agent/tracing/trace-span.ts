/** @module A span as the runtime uses it: with OpenTelemetry behind it, or only a trace context that is passed on. */

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>

export interface SpanStart {
  readonly name: string
  /** `client`: a request to another system. */
  readonly kind: 'internal' | 'client'
  readonly attributes: SpanAttributes
}

/** What a call of a model or an agent is to a tracer; other calls are the execution of a tool. */
export interface ModelOperation {
  readonly operation: 'chat' | 'embeddings' | 'invoke_agent'
  /** The model's or the agent's. */
  readonly name: string
  readonly provider?: string
}

export interface TraceSpan {
  /** W3C Trace Context of this span, version 00: sent with every command that is requested under it. */
  readonly traceparent: string
  child(start: SpanStart): TraceSpan
  /** Runs `fn` with this span as the active one, so that what other libraries trace hangs below it. */
  within<T>(fn: () => T): T
  set(attributes: SpanAttributes): void
  /** `failure`: what stands as `error.type`, a code or the name of a class. */
  end(failure?: string): void
}

/** No SDK at hand: what the caller named goes with every command, as it is. */
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
