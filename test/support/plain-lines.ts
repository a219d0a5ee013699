/** @module Lines of OCSF and CloudEvents as objects that are made of each event again: what the texts that are put together are held to. */
import { ratingOf } from '../../projections/event-facts.ts'
import type { EventType, Rating } from '../../schemas/event-type.ts'
import { declarationOf } from '../../schemas/events.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { cloudEventType } from '../../src/export/cloudevents.ts'
import { type ExportScope, textOf } from '../../src/export/format.ts'
import { exportLine } from '../../src/export/jsonl.ts'
import { responseOf, statusDetailOf, unmappedOf } from '../../src/export/ocsf-outcome.ts'
import { runOf } from '../../src/export/run-of.ts'
import type { LedgerEvent } from '../../src/ledger/ledger-event.ts'

type Writable = { [name: string]: Json }

const OCSF_VERSION = '1.9.0'
const CATEGORY = { uid: 6, name: 'Application Activity' } as const
const CLASS = { uid: 6003, name: 'API Activity' } as const
const SERVICE = { name: 'countersign' } as const

const ACTIVITY = { create: 1, read: 2, update: 3 } as const satisfies Record<EventType['activity'], number>
const SEVERITY = { informational: 1, low: 2, medium: 3, high: 4 } as const satisfies Record<Rating['severity'], number>
const STATUS = { success: 1, failure: 2 } as const satisfies Record<Rating['outcome'], number>
const ROLE = { tool: 3, agent: 4, orchestrator: 5 } as const
const SHA_256 = 3
const OTHER = 99
const HEX = 1
/** How the fingerprint's bytes are made: our own form, so that nobody takes it for the digest of the OCSF object. */
const SERIALIZATION = 'RFC 6962 leaf hash of the sealed header (RFC 8785) in raw_data'

/** OCSF's "Unknown": of a type that this build does not know, nobody here can say more. */
const UNKNOWN = 0

/** Members in OCSF's usual order. */
export function plainActivity(event: LedgerEvent, scope: ExportScope): JsonObject {
  const { header, data } = event
  const declared = declarationOf(header.type)
  const rating = declared && ratingOf(declared, data)
  const timeMs = Date.parse(header.time)
  const line: Writable = classOf(declared === undefined ? UNKNOWN : ACTIVITY[declared.activity])
  line.severity_id = rating === undefined ? UNKNOWN : SEVERITY[rating.severity]
  line.status_id = rating === undefined ? UNKNOWN : STATUS[rating.outcome]
  line.time = timeMs
  line.timezone_offset = 0
  line.actor = actorOf(header)
  line.message = declared?.label ?? header.type
  const { code, detail } = statusDetailOf(event)
  if (code !== undefined) line.status_code = code
  if (detail !== undefined) line.status_detail = detail
  line.api = apiOf(event)
  // The ledger records who asked, not from which address.
  line.src_endpoint = { name: header.actor }
  line.metadata = metadataOf(header, timeMs, scope)
  addAiOperation(line, event)
  if (header.traceparent !== undefined) line.trace = { uid: header.traceparent.split('-')[1] ?? '' }
  line.attestation_list = [attestation(event, timeMs, scope)]
  line.raw_data = exportLine(event.texts).trimEnd()
  const unmapped = unmappedOf(data, rating?.verdict ?? null)
  if (unmapped !== undefined) line.unmapped = unmapped
  return line
}

function classOf(activityId: number): Writable {
  return {
    category_uid: CATEGORY.uid,
    category_name: CATEGORY.name,
    class_uid: CLASS.uid,
    class_name: CLASS.name,
    activity_id: activityId,
    type_uid: CLASS.uid * 100 + activityId,
  }
}

function apiOf({ header, data }: LedgerEvent): JsonObject {
  const api: Writable = {
    operation: header.type,
    service: SERVICE,
    request: { uid: header.request?.id ?? header.id },
  }
  const response = responseOf(data)
  if (response !== undefined) api.response = response
  return api
}

/** The one responsible, and the program that acted for them. An agent's name goes to `ai_agent`. */
function actorOf({ actor, principal }: LedgerEvent['header']): JsonObject {
  if (principal === undefined) return { user: { uid: actor, name: actor } }
  return { user: { uid: principal, name: principal }, application: { uid: actor, name: actor } }
}

const PROFILES = ['ai_operation', 'record_integrity'] as const
const TRACED_PROFILES = [...PROFILES, 'trace'] as const

function metadataOf(header: LedgerEvent['header'], timeMs: number, { ledgerId }: ExportScope): JsonObject {
  const metadata: Writable = {
    version: OCSF_VERSION,
    product: { name: 'Countersign', vendor_name: 'Countersign', uid: ledgerId },
    profiles: header.traceparent === undefined ? PROFILES : TRACED_PROFILES,
    // By its place: the event behind it knows that of it, and not its id.
    uid: entryOf(header.stream, header.revision),
    original_event_uid: header.id,
    event_code: header.type,
    sequence: header.revision,
    log_name: header.stream,
    tenant_uid: header.tenant,
    logged_time: timeMs,
  }
  if (header.causation !== undefined) metadata.correlation_uid = header.causation
  return metadata
}

function addAiOperation(line: Writable, { header, data }: LedgerEvent): void {
  const agent = textOf(data, 'agent')
  const usage = typeof data.usage === 'object' && data.usage !== null ? (data.usage as JsonObject) : {}
  const run = runOf(header.stream)
  const name = textOf(usage, 'model')
  const model = name === undefined ? undefined : { name, ai_provider: textOf(usage, 'provider') ?? 'Unknown' }
  const tool = textOf(data, 'tool')
  const call = textOf(data, 'callId')
  const context: Writable = {
    uid: call ?? header.stream,
    ai_role_id:
      tool !== undefined || call !== undefined ? ROLE.tool : agent !== undefined ? ROLE.agent : ROLE.orchestrator,
    service: { name: tool ?? SERVICE.name },
  }
  if (typeof usage.inputTokens === 'number') context.prompt_tokens = usage.inputTokens
  if (typeof usage.outputTokens === 'number') context.completion_tokens = usage.outputTokens
  if (typeof usage.tokens === 'number') context.total_tokens = usage.tokens
  if (agent !== undefined) {
    const by: Writable = { uid: agent, name: agent, type_id: 0 }
    if (run !== undefined) by.instance_uid = run
    if (model !== undefined) by.ai_model = model
    line.ai_agent = by
  } else if (model !== undefined) line.ai_model = model
  line.message_context = context
}

function attestation({ header, digest }: LedgerEvent, timeMs: number, { ledgerId }: ExportScope): JsonObject {
  const { stream, revision, prev } = header
  const found: Writable = { uid: entryOf(stream, revision), authority_uid: ledgerId, chain_uid: stream }
  if (prev !== undefined) found.prev_event = { uid: entryOf(stream, revision - 1), fingerprint: fingerprint(prev) }
  found.fingerprint = fingerprint(digest)
  found.signatures = [
    {
      algorithm_id: OTHER,
      algorithm: 'HMAC-SHA-256',
      serialization_id: OTHER,
      serialization: 'countersign/event/v1',
      created_time: timeMs,
    },
  ]
  return found
}

/** An entry of the chain by its place: the link of an event is a digest, so that its id is not known from the event behind it. */
function entryOf(stream: string, revision: number): string {
  return `${stream}@${revision}`
}

function fingerprint(digest: string): JsonObject {
  return {
    algorithm_id: SHA_256,
    algorithm: 'SHA-256',
    encoding_id: HEX,
    serialization_id: OTHER,
    serialization: SERIALIZATION,
    value: digest.slice('sha256:'.length),
  }
}

/** The JSON text, without a line feed. */
export function plainCloudEvent(event: LedgerEvent, scope: ExportScope): string {
  const { header, data, texts } = event
  const run = runOf(header.stream)
  const leafIndex = scope.leafIndex(header.id)
  const attributes = {
    specversion: '1.0',
    id: header.id,
    source: `/ledgers/${scope.ledgerId}/tenants/${scope.tenant}`,
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
  return `${JSON.stringify(attributes).slice(0, -1)},"data":${exportLine(texts).trimEnd()}}`
}
