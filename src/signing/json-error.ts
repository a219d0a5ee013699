/** @module Errors of strict JSON as values: a stable code, the place, and a message that says what to do. */
import type { Json } from '../../schemas/json.ts'
import { pointerStep } from '../../schemas/json-pointer.ts'

export type JsonErrorCode =
  | 'json-syntax'
  | 'json-encoding'
  | 'json-depth'
  | 'json-duplicate-key'
  | 'json-number'
  | 'json-surrogate'
  | 'json-key'
  | 'json-too-large'

export interface JsonError {
  readonly code: JsonErrorCode
  /** RFC 6901 pointer to the place, or to its nearest ancestor if the pointer would exceed `POINTER_MAX_CHARS`. */
  readonly pointer: string
  /** Offset in the text, in UTF-16 code units; in bytes for `json-encoding` and `json-too-large`. */
  readonly offset: number
  readonly message: string
}

export type JsonResult<T = Json> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: JsonError }

/** Pointers are repeated in answers and logs, so a key of half a megabyte must not end up in one. */
const POINTER_MAX_CHARS = 1024

/** The JSON Pointer of a path, cut off at the last step within `POINTER_MAX_CHARS`. */
export function jsonPointer(path: readonly (string | number)[]): string {
  let pointer = ''
  for (const token of path) {
    const next = pointer + pointerStep(token)
    if (next.length > POINTER_MAX_CHARS) return pointer
    pointer = next
  }
  return pointer
}

export function jsonFailure(code: JsonErrorCode, offset: number, message: string, pointer = ''): JsonResult<never> {
  return { ok: false, error: { code, pointer, offset, message } }
}
