/** @module Spans in OTLP/JSON: one request per line, hex ids, 64-bit integers as strings (OTLP 1.x, JSON Protobuf encoding). */
import type { JsonObject } from '../../schemas/json.ts'
import { sha256Hex } from '../signing/digests.ts'

export const SPAN_KIND = { internal: 1, client: 3 } as const
export const SPAN_STATUS = { unset: 0, ok: 1, error: 2 } as const

const TRACE_ID_DIGITS = 32
const SPAN_ID_DIGITS = 16

/** Integers stay exact, since they are written as strings. Values that are doubles by convention are marked. */
export type AttributeValue = string | number | { readonly double: number }

export interface SpanLink {
  readonly traceId: string
  readonly spanId: string
}

export interface Span {
  /** Stream of the run: one run is one trace. */
  readonly stream: string
  /** Identifies the span within its run; the same key is the same span. */
  readonly key: string
  /** Key of the parent span; absent for the root. */
  readonly parentKey?: string
  readonly name: string
  readonly kind: (typeof SPAN_KIND)[keyof typeof SPAN_KIND]
  /** RFC 3339. */
  readonly start: string
  readonly end: string
  readonly attributes: Readonly<Record<string, AttributeValue | undefined>>
  readonly status: (typeof SPAN_STATUS)[keyof typeof SPAN_STATUS]
  readonly message?: string | undefined
  readonly link?: SpanLink | undefined
}

export interface Resource {
  readonly ledgerId: string
  readonly tenant: string
}

/** The trace id of a run, derived from the stream, so that every export has the same ids. */
export function traceIdOf(stream: string): string {
  return sha256Hex(`countersign/otlp/v1\n${stream}`).slice(0, TRACE_ID_DIGITS)
}

function spanIdOf(stream: string, key: string): string {
  return sha256Hex(`countersign/otlp/v1\n${stream}\n${key}`).slice(0, SPAN_ID_DIGITS)
}

/** An ExportTraceServiceRequest with one span, and a line feed. */
export function spanLine(span: Span, resource: Resource): string {
  const { stream, key, parentKey, name, kind, start, end, attributes, status, message, link } = span
  const body: JsonObject = {
    traceId: traceIdOf(stream),
    spanId: spanIdOf(stream, key),
    ...(parentKey !== undefined && { parentSpanId: spanIdOf(stream, parentKey) }),
    name,
    kind,
    startTimeUnixNano: nanosOf(start),
    endTimeUnixNano: nanosOf(end),
    attributes: attributeList(attributes),
    ...(link && { links: [{ ...link }] }),
    status: { code: status, ...(message !== undefined && { message }) },
  }
  return requestLine(resource, {}, [body])
}

/** A request without spans, whose resource carries the attributes. */
export function resourceLine(resource: Resource, attributes: Readonly<Record<string, AttributeValue>>): string {
  return requestLine(resource, attributes, [])
}

function requestLine(
  { ledgerId, tenant }: Resource,
  more: Readonly<Record<string, AttributeValue>>,
  spans: readonly JsonObject[],
): string {
  const attributes = attributeList({
    'service.name': 'countersign',
    'service.instance.id': ledgerId,
    'countersign.tenant': tenant,
    ...more,
  })
  const scopeSpans = spans.length === 0 ? [] : [{ scope: { name: 'countersign' }, spans: [...spans] }]
  return `${JSON.stringify({ resourceSpans: [{ resource: { attributes }, scopeSpans }] })}\n`
}

function attributeList(attributes: Span['attributes']): JsonObject[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: attributeValue(value) }],
  )
}

function attributeValue(value: AttributeValue): JsonObject {
  if (typeof value === 'string') return { stringValue: value }
  return typeof value === 'number' ? { intValue: String(value) } : { doubleValue: value.double }
}

const NANOS_OF_MS = '000000'

function nanosOf(time: string): string {
  return `${Date.parse(time)}${NANOS_OF_MS}`
}

/** The span that a W3C traceparent names; undefined if there is none. */
export function linkOf(traceparent: string | undefined): SpanLink | undefined {
  const [, traceId, spanId] = traceparent?.split('-') ?? []
  return traceId === undefined || spanId === undefined ? undefined : { traceId, spanId }
}
