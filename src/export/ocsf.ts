/**
 * @module OCSF 1.9.0: every event as API Activity (class 6003) with the profiles `ai_operation` and `record_integrity`, one JSON object per line. `raw_data`
 * is the sealed record as it was signed: the attestation covers that record, not the OCSF object around it.
 */
import { ratingOf } from '../../projections/event-facts.ts'
import type { EventType, Rating } from '../../schemas/event-type.ts'
import { declarationOf } from '../../schemas/events.ts'
import { trailerInOrder } from '../../schemas/export-trailer.ts'
import type { Header } from '../../schemas/header.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import { type ExportFormat, type ExportScope, type ExportTrailer, textOf } from './format.ts'
import { recordText } from './jsonl.ts'
import { membersOf } from './members-of.ts'
import { responseOf, statusDetailOf, unmappedOf } from './ocsf-outcome.ts'
import { runOf } from './run-of.ts'
import { trailerId } from './signed-trailer.ts'
import { inQuotes, writtenOnce } from './written-once.ts'

export const ocsf: ExportFormat = {
  contentType: 'application/x-ndjson',
  extension: 'ocsf.jsonl',
  isByEvent: true,
  open: (scope) => {
    const textsOf = activityTexts(scope)
    const line = (event: LedgerEvent): string => {
      const { before, after } = textsOf(event)
      return `${before},"raw_data":${JSON.stringify(recordText(event.texts))}${after}`
    }
    return {
      head: '',
      event: line,
      write: (event, file) => {
        if (event.seal !== 'valid') return file.add(line(event))
        const { before, after } = textsOf(event)
        file.add(`${before},"raw_data":"`)
        file.addEscaped(recordText(event.texts))
        file.add(`"${after}`)
      },
      rest: () => '',
      trailer: (trailer, lastTime) => {
        const lastMs = lastTime === undefined ? (scope.part?.beforeMs ?? 0) : Date.parse(lastTime)
        return `${JSON.stringify(trailerActivity(trailer, lastMs))}\n`
      },
    }
  },
}

function trailerActivity(trailer: ExportTrailer, lastMs: number): JsonObject {
  const { ledgerId, tenant } = trailer
  return {
    ...classOf(ACTIVITY.read),
    severity_id: SEVERITY.informational,
    status_id: STATUS.success,
    time: lastMs,
    timezone_offset: 0,
    message: 'End of the export',
    actor: { application: SERVICE },
    api: { operation: 'ExportTrailer', service: SERVICE },
    src_endpoint: { name: SERVICE.name },
    metadata: {
      version: VERSION,
      product: { ...PRODUCT, uid: ledgerId },
      profiles: PROFILES,
      uid: trailerId(trailer),
      event_code: 'ExportTrailer',
      tenant_uid: tenant,
    },
    unmapped: { trailer: trailerInOrder(trailer) },
  }
}

// The OCSF line of an event as text, with members in OCSF's usual order. Common parts of the lines of a type, a stream or an actor are formatted once:
// building and serializing an object for each event takes three times as long.

const VERSION = '1.9.0'
const CATEGORY = { uid: 6, name: 'Application Activity' } as const
const CLASS = { uid: 6003, name: 'API Activity' } as const
const SERVICE = { name: 'countersign' } as const
const PRODUCT = { name: 'Countersign', vendor_name: 'Countersign' } as const
const PROFILES = ['ai_operation', 'record_integrity'] as const
const TRACED_PROFILES = [...PROFILES, 'trace'] as const

const ACTIVITY = { create: 1, read: 2, update: 3 } as const satisfies Record<EventType['activity'], number>
const SEVERITY = { informational: 1, low: 2, medium: 3, high: 4 } as const satisfies Record<Rating['severity'], number>
const STATUS = { success: 1, failure: 2 } as const satisfies Record<Rating['outcome'], number>
const ROLE = { tool: 3, agent: 4, orchestrator: 5 } as const
const SHA_256 = 3
const OTHER = 99
const HEX = 1
/** Serialization of the fingerprint's input: a form of our own, so that it is not taken for the digest of the OCSF object. */
const SERIALIZATION = 'RFC 6962 leaf hash of the sealed header (RFC 8785) in raw_data'

/** OCSF's "Unknown", for a type that this build does not know. */
const UNKNOWN = 0

function classOf(activityId: number) {
  return {
    category_uid: CATEGORY.uid,
    category_name: CATEGORY.name,
    class_uid: CLASS.uid,
    class_name: CLASS.name,
    activity_id: activityId,
    type_uid: CLASS.uid * 100 + activityId,
  }
}

type Quote = (text: string) => string

/** The line of an event around the signed record: the text before `raw_data`, and the text after it, including the line feed. */
interface ActivityText {
  readonly before: string
  readonly after: string
}

function activityTexts({ ledgerId }: ExportScope): (event: LedgerEvent) => ActivityText {
  const ofType = writtenOnce(typeTexts)
  const ofActor = writtenOnce((actor) => ({ actor: actorText(actor), endpoint: endpointText(actor) }))
  const ofStream = writtenOnce(streamTexts)
  const ofAgent = writtenOnce(agentText)
  const ofTenant = writtenOnce<string>(JSON.stringify)
  const metadata = metadataText(ledgerId, PROFILES)
  const tracedMetadata = metadataText(ledgerId, TRACED_PROFILES)
  const authority = `,"authority_uid":${JSON.stringify(ledgerId)},"chain_uid":`
  return (event) => {
    const { header } = event
    const { principal, traceparent } = header
    const quoted = event.seal === 'valid' ? inQuotes : JSON.stringify
    const type = ofType(header.type)
    const data = dataOf(event, type)
    const rating = type.declared && ratingOf(type.declared, data)
    const time = numberText(Date.parse(header.time))
    const by = ofActor(header.actor)
    const stream = ofStream(header.stream)
    const place = placeOf(stream, header.revision)
    const before =
      `${type.start}${ratingText(rating)},"time":${time},"timezone_offset":0` +
      `,"actor":${principal === undefined ? by.actor : actingText(header.actor, principal)}${type.message}` +
      `${statusText(header, data)}${type.api}${quoted(header.request?.id ?? header.id)}}${member('response', responseOf(data))}}` +
      `${by.endpoint}${traceparent === undefined ? metadata : tracedMetadata}${place}` +
      `,"original_event_uid":${quoted(header.id)}${type.code}${header.revision}${stream.names}` +
      `${ofTenant(header.tenant)},"logged_time":${time}${correlationText(header, quoted)}}` +
      `${aiTexts(data, stream, ofAgent)}${traceText(traceparent)}` +
      `,"attestation_list":[{"uid":${place}${authority}${stream.name}${previousText(header, stream, quoted)}` +
      `,"fingerprint":${fingerprintText(event.digest, inQuotes)}${SIGNATURES}${time}}]}]`
    return { before, after: `${member('unmapped', unmappedOf(data, rating?.verdict ?? null))}}\n` }
  }
}

/** Members of a body that a line uses. */
const LINE_MEMBERS: ReadonlySet<string> = new Set([
  ...['agent', 'tool', 'callId', 'usage'],
  ...['error', 'code', 'detail', 'reason', 'findings'],
])

/** Only those members if the type's rating does not depend on the body and the seal is valid; otherwise the whole body. */
function dataOf(event: LedgerEvent, { declared }: TypeTexts): JsonObject {
  const isRatedByType = declared !== undefined && typeof declared.rating !== 'function'
  const members = isRatedByType && event.seal === 'valid' ? membersOf(event.texts.data, LINE_MEMBERS) : undefined
  return members ?? event.data
}

/** As in JSON: a number that is not finite becomes null. */
function numberText(value: number): string {
  return Number.isFinite(value) ? String(value) : 'null'
}

function member(name: string, value: Json | undefined): string {
  return value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`
}

interface TypeTexts {
  readonly declared: EventType | undefined
  /** Text up to the severity. */
  readonly start: string
  readonly message: string
  /** Text up to the id of the request. */
  readonly api: string
  /** Text up to the revision. */
  readonly code: string
}

function typeTexts(type: string): TypeTexts {
  const declared: EventType | undefined = declarationOf(type)
  const name = JSON.stringify(type)
  const start = JSON.stringify(classOf(declared === undefined ? UNKNOWN : ACTIVITY[declared.activity]))
  return {
    declared,
    start: start.slice(0, -1),
    message: `,"message":${declared === undefined ? name : JSON.stringify(declared.label)}`,
    api: `,"api":{"operation":${name},"service":${JSON.stringify(SERVICE)},"request":{"uid":`,
    code: `,"event_code":${name},"sequence":`,
  }
}

function ratingText(rating: Rating | undefined): string {
  if (rating === undefined) return `,"severity_id":${UNKNOWN},"status_id":${UNKNOWN}`
  return `,"severity_id":${SEVERITY[rating.severity]},"status_id":${STATUS[rating.outcome]}`
}

function actorText(actor: string): string {
  const name = JSON.stringify(actor)
  return `{"user":{"uid":${name},"name":${name}}}`
}

/** The responsible principal, and the program that acted for it. An agent's name goes to `ai_agent`. */
function actingText(actor: string, principal: string): string {
  const [by, of] = [JSON.stringify(actor), JSON.stringify(principal)]
  return `{"user":{"uid":${of},"name":${of}},"application":{"uid":${by},"name":${by}}}`
}

/** The ledger records the caller's identity, but not its address. */
function endpointText(actor: string): string {
  return `,"src_endpoint":{"name":${JSON.stringify(actor)}}`
}

function statusText(header: Header, data: JsonObject): string {
  const { code, detail } = statusDetailOf({ header, data })
  return member('status_code', code) + member('status_detail', detail)
}

/** Text up to the entry's place, which is its id here: the following event knows the place of its predecessor, but not the event id. */
function metadataText(ledgerId: string, profiles: readonly string[]): string {
  const start = JSON.stringify({ version: VERSION, product: { ...PRODUCT, uid: ledgerId }, profiles })
  return `,"metadata":${start.slice(0, -1)},"uid":`
}

function correlationText({ causation }: Header, quoted: Quote): string {
  return causation === undefined ? '' : `,"correlation_uid":${quoted(causation)}`
}

function traceText(traceparent: string | undefined): string {
  return traceparent === undefined ? '' : `,"trace":{"uid":${JSON.stringify(traceparent.split('-')[1] ?? '')}}`
}

interface StreamTexts {
  readonly name: string
  /** The JSON string without its closing quote. */
  readonly open: string
  /** Text up to the tenant. */
  readonly names: string
  /** Instance of an agent: its run. */
  readonly instance: string
}

function streamTexts(stream: string): StreamTexts {
  const name = JSON.stringify(stream)
  const run = runOf(stream)
  const instance = member('instance_uid', run)
  return { name, open: name.slice(0, -1), names: `,"log_name":${name},"tenant_uid":`, instance }
}

/** Id of a chain entry by its place: events link to their predecessor by digest, so the predecessor's event id is unknown. */
function placeOf({ open }: StreamTexts, revision: number): string {
  return `${open}@${revision}"`
}

function agentText(agent: string): string {
  const name = JSON.stringify(agent)
  return `,"ai_agent":{"uid":${name},"name":${name},"type_id":0`
}

function aiTexts(data: JsonObject, stream: StreamTexts, ofAgent: (agent: string) => string): string {
  const agent = textOf(data, 'agent')
  const usage = typeof data.usage === 'object' && data.usage !== null ? (data.usage as JsonObject) : {}
  const modelName = textOf(usage, 'model')
  const model =
    modelName === undefined
      ? ''
      : member('ai_model', { name: modelName, ai_provider: textOf(usage, 'provider') ?? 'Unknown' })
  const by = agent === undefined ? model : `${ofAgent(agent)}${stream.instance}${model}}`
  const tool = textOf(data, 'tool')
  const call = textOf(data, 'callId')
  const role =
    tool !== undefined || call !== undefined ? ROLE.tool : agent !== undefined ? ROLE.agent : ROLE.orchestrator
  const context = call === undefined ? stream.name : JSON.stringify(call)
  return (
    `${by},"message_context":{"uid":${context},"ai_role_id":${role},"service":{"name":${tool === undefined ? SERVICE_NAME : JSON.stringify(tool)}}` +
    `${tokensText('prompt_tokens', usage.inputTokens)}${tokensText('completion_tokens', usage.outputTokens)}` +
    `${tokensText('total_tokens', usage.tokens)}}`
  )
}

function tokensText(name: string, count: Json | undefined): string {
  return typeof count === 'number' ? member(name, count) : ''
}

const SERVICE_NAME = JSON.stringify(SERVICE.name)

const SIGNATURES = `,"signatures":[{"algorithm_id":${OTHER},"algorithm":"HMAC-SHA-256","serialization_id":${OTHER},"serialization":"countersign/event/v1","created_time":`

function previousText({ prev, revision }: Header, stream: StreamTexts, quoted: Quote): string {
  if (prev === undefined) return ''
  return `,"prev_event":{"uid":${placeOf(stream, revision - 1)},"fingerprint":${fingerprintText(prev, quoted)}}`
}

const FINGERPRINT = JSON.stringify({
  algorithm_id: SHA_256,
  algorithm: 'SHA-256',
  encoding_id: HEX,
  serialization_id: OTHER,
  serialization: SERIALIZATION,
}).slice(0, -1)

function fingerprintText(digest: string, quoted: Quote): string {
  return `${FINGERPRINT},"value":${quoted(digest.slice('sha256:'.length))}}`
}
