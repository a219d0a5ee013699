/**
 * @module CloudEvents 1.0 in the JSON event format: one a line, or all in one batch. `data` is the sealed record as it was signed. Context
 * attributes hold no actor: the specification lets every intermediary log them.
 */
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import type { ExportFormat, ExportScope, ExportTrailer } from './format.ts'
import { exportLine } from './jsonl.ts'
import { runOf } from './run-of.ts'
import { trailerId } from './signed-trailer.ts'

const TYPE_PREFIX = 'dev.countersign.'
export const CLOUDEVENT_TRAILER_TYPE = `${TYPE_PREFIX}export.trailer.v1`

/** `dev.countersign.tool.call.claimed.v1` of ToolCallClaimed. */
export function cloudEventType(type: string, version: unknown): string {
  const words = type.match(/[A-Z][a-z]*/g) ?? [type]
  return `${TYPE_PREFIX}${words.map((word) => word.toLowerCase()).join('.')}.v${typeof version === 'number' ? version : 1}`
}

function sourceOf({ ledgerId, tenant }: ExportScope): string {
  return `/ledgers/${ledgerId}/tenants/${tenant}`
}

/** The JSON text, without a line feed. */
function eventText(event: LedgerEvent, scope: ExportScope): string {
  const { header, data, texts } = event
  const run = runOf(header.stream)
  const leafIndex = scope.leafIndex(header.id)
  const attributes = {
    specversion: '1.0',
    id: header.id,
    source: sourceOf(scope),
    type: cloudEventType(header.type, data.v),
    subject: header.stream,
    time: header.time,
    datacontenttype: 'application/json',
    ...(run !== undefined && { runid: run }),
    streamrev: header.revision,
    partitionkey: header.stream,
    ...(leafIndex !== undefined && { leafindex: leafIndex }),
    payloaddigest: header.dataDigest,
    keyid: header.kid,
    ...(header.traceparent !== undefined && { traceparent: header.traceparent }),
  }
  return withData(attributes, exportLine(texts).trimEnd())
}

function trailerText(trailer: ExportTrailer, scope: ExportScope): string {
  const id = trailerId(trailer)
  const attributes = { specversion: '1.0', id, source: sourceOf(scope), type: CLOUDEVENT_TRAILER_TYPE }
  return withData({ ...attributes, datacontenttype: 'application/json' }, JSON.stringify(trailer))
}

function withData(attributes: object, dataText: string): string {
  return `${JSON.stringify(attributes).slice(0, -1)},"data":${dataText}}`
}

export const cloudEvents: ExportFormat = {
  contentType: 'application/x-ndjson',
  extension: 'cloudevents.jsonl',
  open: (scope) => ({
    head: '',
    event: (event) => `${eventText(event, scope)}\n`,
    rest: () => '',
    trailer: (trailer) => `${trailerText(trailer, scope)}\n`,
  }),
}

export const cloudEventsBatch: ExportFormat = {
  contentType: 'application/cloudevents-batch+json',
  extension: 'cloudevents.json',
  open: (scope) => ({
    head: '[\n',
    event: (event) => `${eventText(event, scope)},\n`,
    rest: () => '',
    trailer: (trailer) => `${trailerText(trailer, scope)}\n]\n`,
  }),
}
