/** @module Idempotency marks: the id of a key in its scope, and a MAC over the request (STR-13). */
import { v5 as uuidV5 } from 'uuid'
import type { Json } from '../../schemas/json.ts'
import { canonicalJson } from './canonical-json.ts'
import { type MacKey, textMac } from './digests.ts'

/** Own name spaces for RFC 9562 UUIDv5, so that the id of a request never equals the id of a run. */
const REQUEST_NAMESPACE = '4f1c8d0e-6b52-4d0b-9a37-2f6a0c3d91b5'
const RUN_NAMESPACE = 'a7e2b6d4-0c19-4f8e-8d53-61b94e7f2c08'

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
