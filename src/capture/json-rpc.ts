/**
 * @module Reads JSON-RPC lines for the record. Any line that a parser could take for a `tools/call` is either read exactly or refused, because a line that only
 * some parsers understand would be an unrecorded call. Everything else is passed on unchanged.
 */
import type { Buffer } from 'node:buffer'
import { isJsonObject, type Json, type JsonObject, parseJsonOrUndefined } from '../../schemas/json.ts'
import { parseStrictJson } from '../signing/strict-json.ts'

export type RequestId = string | number

export interface ToolCall {
  readonly id: RequestId
  readonly tool: string
  /** `{}` if the request has no arguments. */
  readonly args: Json
  /** `_meta["dev.countersign/call-key"]`: the host's identity of the call. */
  readonly callKey?: string
  /** The protocol's own members of `_meta`, which each request of revision 2026-07-28 has. */
  readonly meta?: JsonObject
  /** Revision 2026-07-28, of a host that opens URLs for a person: what the person said to ours, if the host was asked before. */
  readonly urlRound?: { readonly said?: UrlAction }
}

/** What a person said to a URL that the host showed: `accept` means that it was opened. */
export type UrlAction = 'accept' | 'decline' | 'cancel'

/** A line from the host. `refused`: it is not forwarded; an error is returned for each of `ids`, or one without an id. */
export type HostLine =
  | { readonly kind: 'passes' }
  | { readonly kind: 'call'; readonly call: ToolCall }
  | { readonly kind: 'cancelled'; readonly id: RequestId; readonly reason: string }
  | { readonly kind: 'initialize'; readonly opensUrls: boolean }
  /** The host's answer to a request of the proxy, which the server never sees. */
  | { readonly kind: 'reply'; readonly id: string; readonly said: UrlAction }
  | { readonly kind: 'refused'; readonly code: number; readonly message: string; readonly ids: readonly RequestId[] }

/** A request of the host that is no call. `list`: it asks for the tools. */
export interface HostRequest {
  readonly id: RequestId
  readonly list?: { readonly isFirstPage: boolean }
}

/** The server's answer to a request. */
export interface Answer {
  readonly id: RequestId
  readonly result?: Json
  readonly error?: JsonObject
}

/** What a line of the server means to the host. */
export interface ServerLine {
  /** All that a host could take for an answer. */
  readonly answers: readonly Answer[]
  /** Why hosts may read the line in different ways. */
  readonly fault?: string
  /** The server says that its tools are others now. */
  readonly changesTools: boolean
}

const CALL = 'tools/call'
const LIST = 'tools/list'
const CANCELLED = 'notifications/cancelled'
const INITIALIZE = 'initialize'
const TOOLS_CHANGED = 'notifications/tools/list_changed'
const CALL_KEY = 'dev.countersign/call-key'
const OF_PROTOCOL = 'io.modelcontextprotocol/'
const CAPABILITIES = `${OF_PROTOCOL}clientCapabilities`
/** Names the proxy's own question among the requests for input of a result. */
export const APPROVAL_INPUT = 'dev.countersign/approval'
/** Ids of the proxy's own requests to the host begin with this. */
export const OWN_ID = 'countersign-ask-'

export const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
export const METHOD_NOT_FOUND = -32_601
export const INVALID_PARAMS = -32_602

const PASSES: HostLine = { kind: 'passes' }

export function readHostLine(bytes: Buffer): HostLine {
  if (!mayMatter(bytes)) return PASSES
  const parsed = parseStrictJson(bytes, { maxBytes: bytes.byteLength, maxDepth: 512, maxKeys: 1_000_000 })
  if (!parsed.ok) {
    if (!looksLikeCall(bytes)) return looseNotice(bytes)
    const { code, message, offset } = parsed.error
    return refused(
      PARSE_ERROR,
      `a tools/call that cannot be recorded exactly (${code} at byte ${offset}: ${message}) is not forwarded; send it as plain JSON`,
    )
  }
  if (Array.isArray(parsed.value)) return readBatch(parsed.value)
  return isJsonObject(parsed.value) ? readMessage(parsed.value) : PASSES
}

/** Without one of these words, and without an escape that could spell one, no parser finds a relevant method in the line. */
function mayMatter(bytes: Buffer): boolean {
  return [CALL, CANCELLED, INITIALIZE, OWN_ID, '\\u00', '\\/'].some((word) => bytes.includes(word))
}

/** Whether the most lenient parser could find a `tools/call` in the line. */
function looksLikeCall(bytes: Buffer): boolean {
  return speltOut(bytes).includes(CALL)
}

function speltOut(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replaceAll(/\\u00([2-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replaceAll('\\/', '/')
}

/** Reads a line that need not be recorded exactly; a line that cannot be parsed is passed on. */
function looseNotice(bytes: Buffer): HostLine {
  const value = parseJsonOrUndefined(bytes.toString('utf8'))
  return isJsonObject(value) && value.method !== CALL ? readMessage(value) : PASSES
}

function readMessage(message: JsonObject): HostLine {
  const { method, id } = message
  const params = isJsonObject(message.params) ? message.params : {}
  if (method === CALL) return readCall(message)
  if (method === INITIALIZE) return { kind: 'initialize', opensUrls: opensUrls(params.capabilities) }
  if (method === undefined && typeof id === 'string' && id.startsWith(OWN_ID))
    return { kind: 'reply', id, said: actionIn(message.result) }
  if (method === CANCELLED && isRequestId(params.requestId)) {
    const reason = typeof params.reason === 'string' ? params.reason : 'no reason given'
    return { kind: 'cancelled', id: params.requestId, reason }
  }
  return PASSES
}

/** Whether a client with these capabilities shows URLs to a person (`elicitation.url`). */
function opensUrls(capabilities: Json | undefined): boolean {
  const elicitation = isJsonObject(capabilities) ? capabilities.elicitation : undefined
  return isJsonObject(elicitation) && isJsonObject(elicitation.url)
}

function actionIn(result: Json | undefined): UrlAction {
  const action = isJsonObject(result) ? result.action : undefined
  return action === 'accept' || action === 'decline' ? action : 'cancel'
}

function urlRoundOf({ _meta, inputResponses }: JsonObject): Pick<ToolCall, 'urlRound'> {
  if (!isJsonObject(_meta) || !opensUrls(_meta[CAPABILITIES])) return {}
  const given = isJsonObject(inputResponses) ? inputResponses[APPROVAL_INPUT] : undefined
  return { urlRound: given === undefined ? {} : { said: actionIn(given) } }
}

function readCall({ id, params }: JsonObject): HostLine {
  if (!isRequestId(id))
    return refused(
      INVALID_REQUEST,
      'a tools/call without an id that is a text or a number is not forwarded: nothing could answer it',
    )
  if (!isJsonObject(params) || typeof params.name !== 'string' || params.name === '')
    return refused(INVALID_PARAMS, 'a tools/call names its tool in params.name', [id])
  const { name, arguments: args = {}, _meta } = params
  const callKey = isJsonObject(_meta) ? _meta[CALL_KEY] : undefined
  if (callKey !== undefined && (typeof callKey !== 'string' || callKey === '' || callKey.length > CALL_KEY_MAX_CHARS))
    return refused(INVALID_PARAMS, `_meta["${CALL_KEY}"] takes a text of 1 to ${CALL_KEY_MAX_CHARS} characters`, [id])
  const meta = Object.entries(isJsonObject(_meta) ? _meta : {}).filter(([key]) => key.startsWith(OF_PROTOCOL))
  const call = { id, tool: name, args, ...(callKey !== undefined && { callKey }), ...urlRoundOf(params) }
  return { kind: 'call', call: { ...call, ...(meta.length > 0 && { meta: Object.fromEntries(meta) }) } }
}

const CALL_KEY_MAX_CHARS = 400

/** A batch with a call could only be forwarded as a whole or not at all; revisions from 2025-06-18 on have no batches. */
function readBatch(messages: readonly Json[]): HostLine {
  const requests = messages.filter(isJsonObject)
  if (!requests.some(({ method }) => method === CALL)) return PASSES
  const ids = requests.flatMap(({ id, method }) => (method !== undefined && isRequestId(id) ? [id] : []))
  return refused(
    INVALID_REQUEST,
    'a batch with a tools/call in it is not forwarded: send each call as a message of its own',
    ids,
  )
}

function refused(code: number, message: string, ids: readonly RequestId[] = []): HostLine {
  return { kind: 'refused', code, message, ids }
}

/** The requests in a line of the host that holds no call. */
export function requestsIn(bytes: Buffer): readonly HostRequest[] {
  return messagesIn(bytes).flatMap(({ id, method, params }) => {
    if (method === undefined || !isRequestId(id)) return []
    const isFirstPage = !isJsonObject(params) || params.cursor === undefined
    return [{ id, ...(method === LIST && { list: { isFirstPage } }) }]
  })
}

export function readServerLine(bytes: Buffer): ServerLine {
  const messages = messagesIn(bytes)
  if (messages.length === 0) return looksLikeAnswer(bytes) ? { ...NO_ANSWER, fault: 'it is no JSON' } : NO_ANSWER
  const read = messages.map(answerIn)
  const fault = read.find((each) => each?.fault !== undefined)?.fault
  return {
    answers: read.flatMap((each) => each?.answer ?? []),
    ...(fault !== undefined && { fault }),
    changesTools: messages.some(({ method }) => method === TOOLS_CHANGED),
  }
}

/** Why an answer cannot be recorded as the host gets it: the record would say another number, key or character. */
export function inexactIn(bytes: Buffer): string | undefined {
  const parsed = parseStrictJson(bytes, { maxBytes: bytes.byteLength, maxDepth: 512, maxKeys: 1_000_000 })
  if (parsed.ok) return undefined
  const { code, message, offset } = parsed.error
  return `the answer cannot be recorded exactly (${code} at byte ${offset}: ${message})`.slice(0, 1_024)
}

const NO_ANSWER: ServerLine = { answers: [], changesTools: false }

/** Whether a reader that takes more than JSON, or ends lines elsewhere, could find an answer in the line. */
function looksLikeAnswer(bytes: Buffer): boolean {
  const spelt = speltOut(bytes)
  return ['{', 'id'].every((word) => spelt.includes(word)) && /result|error/.test(spelt)
}

/** The messages of a line or a batch, read as leniently as the Python peers that write `NaN`; none if it cannot be read. */
function messagesIn(bytes: Buffer): readonly JsonObject[] {
  const text = bytes.toString('utf8')
  const value = parseJsonOrUndefined(text) ?? parseJsonOrUndefined(text.replaceAll(/-?\b(?:NaN|Infinity)\b/g, 'null'))
  const messages: readonly Json[] = Array.isArray(value) ? value : value === undefined ? [] : [value]
  return messages.filter(isJsonObject)
}

/** What a host could take for an answer; with `fault`, it is no valid one, and not every host takes it. */
function answerIn({ id, method, result, error }: JsonObject): { answer?: Answer; fault?: string } | undefined {
  const hasError = error !== undefined && error !== null
  const hasOutcome = result !== undefined || hasError
  if (id === undefined || id === null || (method !== undefined && !hasOutcome)) return undefined
  if (!isRequestId(id)) return { fault: 'its id is neither a text nor a number' }
  if (!hasOutcome) return { answer: { id }, fault: 'it has neither a result nor an error' }
  if (method !== undefined) return { answer: { id }, fault: 'it is a request and an answer in one' }
  if (!hasError) return { answer: { id, result } as Answer }
  if (result !== undefined && result !== null) return { answer: { id }, fault: 'it has both a result and an error' }
  return { answer: { id, error: isJsonObject(error) ? error : { message: JSON.stringify(error) } } }
}

function isRequestId(value: Json | undefined): value is RequestId {
  return typeof value === 'string' || typeof value === 'number'
}

/** Ids of different types identify different requests. */
export function idKey(id: RequestId): string {
  return `${typeof id} ${id}`
}

/** The keys of the requests that hosts match with an answer under this id, the exact one first: some take `"1"` for 1. */
export function keysOfAnswer(id: RequestId): readonly string[] {
  const other = typeof id === 'number' ? String(id) : Number(id)
  return String(other) === String(id) ? [idKey(id), idKey(other)] : [idKey(id)]
}

/** A request of the proxy for the tools, with the protocol's members of the call that needs them. */
export function listLine(id: string, { meta }: ToolCall, cursor: string | undefined): string {
  const params = { ...(cursor !== undefined && { cursor }), ...(meta !== undefined && { _meta: meta }) }
  return messageLine({ id, method: LIST, params })
}

/**
 * A tool result that tells the model that the tool did not run, or that its outcome is unknown. Revision 2026-07-28 requires `resultType`; older hosts ignore
 * it.
 */
export function textResult(id: RequestId, text: string): string {
  return messageLine({ id, result: { resultType: 'complete', content: [{ type: 'text', text }], isError: true } })
}

export function resultLine(id: RequestId, result: Json): string {
  return messageLine({ id, result })
}

export function errorLine(id: RequestId | null, code: number, message: string, data?: JsonObject): string {
  return messageLine(errorOf(id, code, message, data))
}

/** The members of an answer that is an error, without `jsonrpc`. */
export function errorOf(id: RequestId | null, code: number, message: string, data?: JsonObject): JsonObject {
  return { id, error: { code, message: `countersign: ${message}`, ...(data && { data }) } }
}

export function messageLine(message: object): string {
  return `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`
}
