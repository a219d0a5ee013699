/**
 * @module CloudEvents 1.0 in the JSON event format: one per line, or all in one batch. `data` is the sealed record as it was signed. Context attributes do not
 * contain the actor: the specification allows every intermediary to log them.
 */
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import type { ExportFormat, ExportScope, ExportTrailer, FormatWriter } from './format.ts'
import { recordText } from './jsonl.ts'
import { runOf } from './run-of.ts'
import { trailerId } from './signed-trailer.ts'
import { inQuotes, writtenOnce } from './written-once.ts'

const TYPE_PREFIX = 'dev.countersign.'
export const CLOUDEVENT_TRAILER_TYPE = `${TYPE_PREFIX}export.trailer.v1`

/** `dev.countersign.tool.call.claimed.v1` for ToolCallClaimed. */
export function cloudEventType(type: string, version: unknown): string {
  const words = type.match(/[A-Z][a-z]*/g) ?? [type]
  return `${TYPE_PREFIX}${words.map((word) => word.toLowerCase()).join('.')}.v${typeof version === 'number' ? version : 1}`
}

function sourceOf({ ledgerId, tenant }: ExportScope): string {
  return `/ledgers/${ledgerId}/tenants/${tenant}`
}

/** Formats the JSON text of events, without a line feed; the common parts of a type or a stream are formatted once. */
function eventTexts(scope: ExportScope): (event: LedgerEvent) => string {
  const source = JSON.stringify(sourceOf(scope))
  const firstVersion = writtenOnce((type) => JSON.stringify(cloudEventType(type, 1)))
  const typeOf = (event: LedgerEvent): string => {
    const { type } = event.header
    return isFirstVersion(event) ? firstVersion(type) : JSON.stringify(cloudEventType(type, event.data.v))
  }
  const ofStream = writtenOnce((stream) => {
    const run = runOf(stream)
    return { name: JSON.stringify(stream), run: run === undefined ? '' : `,"runid":${JSON.stringify(run)}` }
  })
  const keyOf = writtenOnce((kid) => `,"keyid":${JSON.stringify(kid)}`)
  return (event) => {
    const { header, seal, texts } = event
    const quoted = seal === 'valid' ? inQuotes : JSON.stringify
    const { name, run } = ofStream(header.stream)
    const leafIndex = scope.leafIndex(header.id)
    const leaf = leafIndex === undefined ? '' : `,"leafindex":${leafIndex}`
    const trace = header.traceparent === undefined ? '' : `,"traceparent":${quoted(header.traceparent)}`
    return (
      `{"specversion":"1.0","id":${quoted(header.id)},"source":${source},"type":${typeOf(event)}` +
      `,"subject":${name},"time":${quoted(header.time)},"datacontenttype":"application/json"${run}` +
      `,"streamrev":${header.revision},"partitionkey":${name}${leaf},"payloaddigest":${quoted(header.dataDigest)}` +
      `${keyOf(header.kid)}${trace},"data":${recordText(texts)}}`
    )
  }
}

const FIRST_VERSION_END = ',"v":1}'

/** In canonical JSON, a comma followed by a quote begins a member, and the last brace ends the body: so `v` is a member of the body itself. */
function isFirstVersion({ seal, texts, data }: LedgerEvent): boolean {
  return (seal === 'valid' && texts.data.endsWith(FIRST_VERSION_END)) || data.v === 1
}

function trailerText(trailer: ExportTrailer, scope: ExportScope): string {
  const id = trailerId(trailer)
  const attributes = { specversion: '1.0', id, source: sourceOf(scope), type: CLOUDEVENT_TRAILER_TYPE }
  const text = JSON.stringify({ ...attributes, datacontenttype: 'application/json' })
  return `${text.slice(0, -1)},"data":${JSON.stringify(trailer)}}`
}

export const cloudEvents: ExportFormat = {
  contentType: 'application/x-ndjson',
  extension: 'cloudevents.jsonl',
  isByEvent: true,
  open: (scope) => writerOf(scope, { head: '', separator: '\n', end: '\n' }),
}

export const cloudEventsBatch: ExportFormat = {
  contentType: 'application/cloudevents-batch+json',
  extension: 'cloudevents.json',
  isByEvent: true,
  open: (scope) => writerOf(scope, { head: '[\n', separator: ',\n', end: '\n]\n' }),
}

interface Around {
  readonly head: string
  readonly separator: string
  readonly end: string
}

function writerOf(scope: ExportScope, { head, separator, end }: Around): FormatWriter {
  const eventText = eventTexts(scope)
  return {
    head,
    event: (event) => eventText(event) + separator,
    rest: () => '',
    trailer: (trailer) => trailerText(trailer, scope) + end,
  }
}
