/**
 * @module Spans through `@opentelemetry/api`, if the program has it and has registered an SDK. The package is an optional peer dependency, loaded when the
 * first run starts; its types are declared here by shape, so that the published type declarations do not need it.
 */
import { TRACEPARENT_PATTERN } from '../../../schemas/value-forms.ts'
import { passedOn, type SpanAttributes, type SpanStart, type TraceSpan } from './trace-span.ts'

interface SpanContext {
  readonly traceId: string
  readonly spanId: string
  readonly traceFlags: number
}

interface Span {
  spanContext(): SpanContext
  setAttributes(attributes: Record<string, string | number | boolean>): unknown
  setStatus(status: { readonly code: number }): unknown
  end(): void
}

interface Context {
  getValue(key: symbol): unknown
  setValue(key: symbol, value: unknown): Context
}

interface Tracer {
  startSpan(name: string, options: object, context: Context): Span
}

interface OpenTelemetry {
  readonly trace: {
    getTracer(name: string): Tracer
    setSpan(context: never, span: never): unknown
    setSpanContext(context: never, spanContext: SpanContext & { readonly isRemote: boolean }): unknown
  }
  readonly context: { active(): unknown; with(context: never, fn: () => never): unknown }
  isSpanContextValid(spanContext: SpanContext): boolean
  createContextKey(description: string): symbol
}

const SCOPE = 'countersign'
const KINDS = { internal: 0, client: 2 } as const
const STATUS_ERROR = 2
const HEX = 16

let loaded: Promise<OpenTelemetry | undefined> | undefined

async function load(): Promise<OpenTelemetry | undefined> {
  try {
    return (await import('@opentelemetry/api')) as unknown as OpenTelemetry
  } catch {
    return undefined
  }
}

/**
 * The root span of a run: a child of the span in a valid `traceparent`, else of the active span. Undefined if no SDK is registered and no valid `traceparent`
 * is given: the calls of the run then do no tracing work.
 */
export async function rootSpan(start: SpanStart, traceparent: string | undefined): Promise<TraceSpan | undefined> {
  loaded ??= load()
  const api = await loaded
  const valid = traceparent !== undefined && TRACEPARENT_PATTERN.test(traceparent) ? traceparent : undefined
  if (api === undefined) return valid === undefined ? undefined : passedOn(valid)
  const active = api.context.active() as Context
  const span = startedSpan(api, start, valid === undefined ? active : remoteContext(api, active, valid))
  if (!api.isSpanContextValid(span.spanContext())) return undefined
  return new OpenTelemetrySpan(api, span, active)
}

function remoteContext({ trace }: OpenTelemetry, active: Context, traceparent: string): Context {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-')
  const spanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, HEX), isRemote: true }
  return trace.setSpanContext(active as never, spanContext) as Context
}

function startedSpan({ trace }: OpenTelemetry, { name, kind, attributes }: SpanStart, below: Context): Span {
  const options = { kind: KINDS[kind], attributes: presentIn(attributes) }
  return trace.getTracer(SCOPE).startSpan(name, options, below)
}

class OpenTelemetrySpan implements TraceSpan {
  /** Context key that holds the span from which a context was derived. */
  static #key: symbol | undefined
  readonly traceparent: string
  readonly #api: OpenTelemetry
  readonly #span: Span
  readonly #context: Context

  constructor(api: OpenTelemetry, span: Span, below: Context) {
    OpenTelemetrySpan.#key ??= api.createContextKey('countersign span')
    const { traceId, spanId, traceFlags } = span.spanContext()
    this.traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(HEX).padStart(2, '0')}`
    this.#api = api
    this.#span = span
    const context = api.trace.setSpan(below as never, span as never) as Context
    this.#context = context.setValue(OpenTelemetrySpan.#key, this)
  }

  child(start: SpanStart): TraceSpan {
    const below = this.#here()
    return new OpenTelemetrySpan(this.#api, startedSpan(this.#api, start, below), below)
  }

  /**
   * The active context if it belongs to this span, so that spans opened by the program are included; this span's own context if the asynchronous context was
   * lost.
   */
  #here(): Context {
    const active = this.#api.context.active() as Context
    return active.getValue(OpenTelemetrySpan.#key as symbol) === this ? active : this.#context
  }

  within<T>(fn: () => T): T {
    return this.#api.context.with(this.#here() as never, fn as () => never) as T
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(presentIn(attributes))
  }

  end(failure?: string): void {
    if (failure !== undefined) {
      this.#span.setAttributes({ 'error.type': failure })
      this.#span.setStatus({ code: STATUS_ERROR })
    }
    this.#span.end()
  }
}

function presentIn(attributes: SpanAttributes): Record<string, string | number | boolean> {
  const present = Object.entries(attributes).filter((entry): entry is [string, string | number | boolean] => {
    return entry[1] !== undefined
  })
  return Object.fromEntries(present)
}
