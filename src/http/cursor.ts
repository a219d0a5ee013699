/**
 * @module Opaque cursors: a place in the history, by position *and* event id (STR-29, HTTP-5).
 *
 * The check is no mac: it tells a mangled or misplaced cursor (400) from one whose place is gone (410). What a forged one could
 * reach is decided where it is used, by the token's tenant.
 */
import type { Json } from '../../schemas/json.ts'
import { fromBase64url, toBase64url } from '../signing/base64url.ts'
import { sha256 } from '../signing/digests.ts'

/** Whose cursor it is, and of which query: anything that prints as JSON. */
export type CursorScope = readonly unknown[]

const PREFIX = 'countersign/cursor/v1\n'
const CHECK_BYTES = 9
const CURSOR_MAX_CHARS = 2_048

/** `scope` says whose cursor it is and of which query: it is checked, not carried. */
export function encodeCursor(scope: CursorScope, place: readonly Json[]): string {
  const text = JSON.stringify(place)
  return toBase64url(Buffer.concat([check(scope, text), Buffer.from(text)]))
}

/** The place; undefined for text that is no cursor of this scope. */
export function decodeCursor(scope: CursorScope, cursor: string): readonly Json[] | undefined {
  const bytes = cursor.length <= CURSOR_MAX_CHARS ? fromBase64url(cursor) : undefined
  if (bytes === undefined || bytes.length <= CHECK_BYTES) return undefined
  const text = Buffer.from(bytes.subarray(CHECK_BYTES)).toString()
  if (Buffer.compare(bytes.subarray(0, CHECK_BYTES), check(scope, text)) !== 0) return undefined
  try {
    const place: unknown = JSON.parse(text)
    return Array.isArray(place) ? place : undefined
  } catch {
    return undefined
  }
}

function check(scope: CursorScope, text: string): Uint8Array {
  return sha256(`${PREFIX}${JSON.stringify(scope)}\n${text}`).subarray(0, CHECK_BYTES)
}
