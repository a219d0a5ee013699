/**
 * @module Strict JSON (REC-12 to REC-15): no input is silently altered, and none stalls the process.
 */

import { isUtf8 } from 'node:buffer'
import { parseJson } from '../../schemas/json.ts'
import { type JsonError, type JsonResult, jsonFailure } from './json-error.ts'
import { type ScanLimits, scanJson } from './json-scan.ts'
import { parseInSlices, type Sliced } from './json-slices.ts'

export type { JsonResult } from './json-error.ts'

export const JSON_MAX_BYTES = 512 * 1024
const JSON_MAX_DEPTH = 64
/** More members than a text of `JSON_MAX_BYTES` can hold with distinct keys; it bounds the work if a caller allows more bytes. */
const JSON_MAX_KEYS = 100_000
/** The scan recurses once per level, so a caller's own limit must not overflow the stack. */
const DEPTH_CEILING = 512

export interface StrictJsonOptions {
  /** Default `JSON_MAX_BYTES`. */
  readonly maxBytes?: number
  /** Nesting depth of lists and objects; a scalar alone has none. Default `JSON_MAX_DEPTH`, at most 512. */
  readonly maxDepth?: number
  /** Total number of members of all objects. Default `JSON_MAX_KEYS`. */
  readonly maxKeys?: number
}

/**
 * Parses UTF-8 bytes from outside. Refuses, with the place: invalid UTF-8, a byte order mark, excessive nesting or size, repeated keys,
 * `__proto__` as a key in any spelling, lone surrogates, and numbers whose value a double does not keep. Never throws.
 */
export function parseStrictJson(bytes: Uint8Array, options: StrictJsonOptions = {}): JsonResult {
  const text = textOf(bytes, options)
  return typeof text === 'string' ? parseScanned(text, options) : text
}

/** `parseStrictJson` in slices of counted steps: no slice takes long, whatever number of keys, items and escapes the text has. */
export function* parseStrictJsonInSlices(bytes: Uint8Array, options: StrictJsonOptions = {}): Sliced<JsonResult> {
  const text = textOf(bytes, options)
  return typeof text === 'string' ? yield* parseInSlices(text, limitsOf(options)) : text
}

function textOf(bytes: Uint8Array, options: StrictJsonOptions): string | JsonResult {
  const maxBytes = options.maxBytes ?? JSON_MAX_BYTES
  if (bytes.byteLength > maxBytes) {
    return jsonFailure('json-too-large', maxBytes, `${bytes.byteLength} bytes, at most ${maxBytes} are taken`)
  }
  const text = decodeUtf8(bytes)
  if (text === undefined) return jsonFailure('json-encoding', invalidUtf8At(bytes), 'the bytes are not UTF-8')
  if (text.charCodeAt(0) === 0xfeff) return jsonFailure('json-encoding', 0, 'a byte order mark is not part of JSON')
  return text
}

/** `parseStrictJson` for text that is already decoded; `maxBytes` does not apply. */
export function parseStrictText(text: string, options: StrictJsonOptions = {}): JsonResult {
  if (!text.isWellFormed()) return jsonFailure('json-surrogate', 0, 'half of a surrogate pair is not a character')
  return parseScanned(text, options)
}

function parseScanned(text: string, options: StrictJsonOptions): JsonResult {
  const limits = limitsOf(options)
  const error = scanJson(text, limits)
  if (error !== undefined) return { ok: false, error }
  try {
    return { ok: true, value: parseJson(text) }
  } catch {
    return { ok: false, error: scanJson(text, limits, true) ?? unplaced }
  }
}

const unplaced: JsonError = { code: 'json-syntax', pointer: '', offset: 0, message: 'not JSON' }

function limitsOf(options: StrictJsonOptions): ScanLimits {
  return {
    maxDepth: Math.min(options.maxDepth ?? JSON_MAX_DEPTH, DEPTH_CEILING),
    maxKeys: options.maxKeys ?? JSON_MAX_KEYS,
  }
}

/** Decodes valid UTF-8 (RFC 3629) without replacing anything by U+FFFD; undefined for other bytes. A byte order mark stays in the text as U+FEFF. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return undefined
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}

/** Offset of the first byte of the first invalid sequence; the length if all bytes are valid. */
function invalidUtf8At(bytes: Uint8Array): number {
  let at = 0
  while (at < bytes.length) {
    const length = sequenceLength(bytes[at] ?? 0)
    if (length === 0 || !isUtf8(bytes.subarray(at, at + length))) return at
    at += length
  }
  return at
}

function sequenceLength(lead: number): number {
  if (lead < 0x80) return 1
  if (lead < 0xc2) return 0
  if (lead < 0xe0) return 2
  if (lead < 0xf0) return 3
  return lead < 0xf5 ? 4 : 0
}
