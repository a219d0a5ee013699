/**
 * @module The protocol revision of a POST request, and whether its headers match its body. Proxies, including this one, act on the headers, so a body that
 * contradicts them must be refused.
 */
import { Buffer } from 'node:buffer'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { INVALID_PARAMS, type RequestId } from '../json-rpc.ts'

/** Requests are independent: no session, no GET, no DELETE. */
export const STATELESS = '2026-07-28'
export const WITH_SESSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const
const KNOWN: readonly string[] = [...WITH_SESSIONS, STATELESS]

const HEADER_MISMATCH = -32_020
/** The method with which hosts ask which revisions a server has: the server itself answers it, whatever revision it names. */
const DISCOVER = 'server/discover'
const UNSUPPORTED_VERSION = -32_022
const VERSION_MEMBER = 'io.modelcontextprotocol/protocolVersion'
/** Methods whose target is repeated in the header `Mcp-Name`, with the member of `params` that names it. */
const NAMED: Readonly<Record<string, string>> = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' }
const BASE64 = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/

export type Revision =
  | { readonly ok: true; readonly isStateless: boolean }
  | { readonly ok: false; readonly code: number; readonly message: string; readonly data?: JsonObject }

/** `message`: the body, if it is an object. */
export function revisionOf(headers: Headers, message: JsonObject | undefined): Revision {
  const { method, params } = message ?? {}
  const meta = isJsonObject(params) ? params._meta : undefined
  const inBody = isJsonObject(meta) ? meta[VERSION_MEMBER] : undefined
  const inHeader = headers.get('mcp-protocol-version') ?? undefined
  const isRequest = message?.id !== undefined && typeof method === 'string'
  // Of two versions that differ neither is taken, even if one of them is unknown.
  if (inBody !== undefined && inHeader !== undefined && inBody !== inHeader)
    return mismatch('MCP-Protocol-Version', inHeader, inBody)
  const unknown = [inBody, inHeader].find((version) => version !== undefined && !KNOWN.includes(String(version)))
  if (unknown !== undefined && method !== DISCOVER)
    return {
      ok: false,
      code: UNSUPPORTED_VERSION,
      message: `the revision ${String(unknown).slice(0, 64)} of the protocol is not known here`,
      data: { supported: [...KNOWN], requested: String(unknown).slice(0, 64) },
    }
  if (unknown === undefined && inBody !== STATELESS && inHeader !== STATELESS) return { ok: true, isStateless: false }
  if (inBody === undefined && isRequest)
    return { ok: false, code: INVALID_PARAMS, message: `_meta["${VERSION_MEMBER}"] is missing` }
  if (inBody !== inHeader && (isRequest || inBody !== undefined))
    return mismatch('MCP-Protocol-Version', inHeader, inBody)
  if (typeof method !== 'string') return { ok: true, isStateless: true }
  if (headers.get('mcp-method') !== method) return mismatch('Mcp-Method', headers.get('mcp-method'), method)
  const member = Object.hasOwn(NAMED, method) ? NAMED[method] : undefined
  const name = member !== undefined && isJsonObject(params) ? params[member] : undefined
  const said = decoded(headers.get('mcp-name'))
  if (member !== undefined && said !== name) return mismatch('Mcp-Name', said, name)
  return { ok: true, isStateless: true }
}

function mismatch(header: string, said: string | null | undefined, body: Json | undefined): Revision {
  const quoted = (value: Json | null | undefined): string =>
    value === undefined || value === null ? 'nothing' : JSON.stringify(value).slice(0, 200)
  const message = `the header ${header} says ${quoted(said)}, and the body ${quoted(body)}: both must be the same`
  return { ok: false, code: HEADER_MISMATCH, message }
}

/** Decodes a header value, which may be base64 for non-ASCII text; undefined if the value is missing or not UTF-8. */
function decoded(value: string | null): string | undefined {
  if (value === null) return undefined
  const [, base64] = BASE64.exec(value) ?? []
  if (base64 === undefined) return value
  const bytes = Buffer.from(base64, 'base64')
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? text : undefined
}

export function requestIdOf(message: JsonObject | undefined): RequestId | null {
  const id = message?.id
  return typeof id === 'string' || typeof id === 'number' ? id : null
}
