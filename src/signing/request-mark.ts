/** @module Idempotency marks: the id of a key in its scope, and a MAC over the request (STR-13). */
import { hash } from 'node:crypto'
import type { Json } from '../../schemas/json.ts'
import { canonicalJson } from './canonical-json.ts'
import { type MacKey, textMac } from './digests.ts'

/** Own name spaces for RFC 9562 UUIDv5, so that the id of a request never equals the id of a run. */
const REQUEST_NAMESPACE = namespace('4f1c8d0e-6b52-4d0b-9a37-2f6a0c3d91b5')
const RUN_NAMESPACE = namespace('a7e2b6d4-0c19-4f8e-8d53-61b94e7f2c08')

/** The fourth group of a UUID begins with one of these. */
const VARIANTS = '89ab'

const REQUEST_PREFIX = 'countersign/request/v1\n'

export interface RequestScope {
  readonly tenant: string
  readonly run: string
  readonly actor: string
}

/** UUIDv5 of an idempotency key within its scope. */
export function requestId(scope: RequestScope, key: string): string {
  return uuidV5(canonicalJson([scope.tenant, scope.run, scope.actor, key]), REQUEST_NAMESPACE)
}

/** The id of a run that was started with an idempotency key and without an id. */
export function runIdFromKey(tenant: string, actor: string, key: string): string {
  return uuidV5(canonicalJson([tenant, actor, key]), RUN_NAMESPACE)
}

/** The bytes of a UUID. */
function namespace(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

/** RFC 9562, section 5.5: the first 16 bytes of the SHA-1 of name space and name, with version and variant. */
function uuidV5(name: string, space: Buffer): string {
  const digest = hash('sha1', Buffer.concat([space, Buffer.from(name)]), 'hex')
  const variant = VARIANTS[Number.parseInt(digest.charAt(16), 16) & 0x3]
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-5${digest.slice(13, 16)}-${variant}${digest.slice(17, 20)}-${digest.slice(20, 32)}`
}

export interface RequestContent {
  readonly method: string
  readonly path: string
  readonly body?: Json | undefined
}

/**
 * HMAC-SHA-256 over method, path and body, base64url. A repeated request is compared under the key of the event that carries the mark, so
 * that it is still recognised after a rotation. `textOf` returns the canonical text of the body, for callers that have part of it already.
 */
export function requestMac(
  runKey: MacKey,
  { method, path, body }: RequestContent,
  textOf: (body: Json) => string = canonicalJson,
): string {
  const content = [canonicalJson(method), canonicalJson(path), ...(body === undefined ? [] : [textOf(body)])]
  return textMac(`${REQUEST_PREFIX}[${content.join(',')}]`, runKey)
}
