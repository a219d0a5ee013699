/**
 * @module The recorded form of a model request and its answer: images, sounds and files as digests, no keys, and each text of a stream joined, so that a
 * redaction policy sees it whole.
 */
import { Buffer } from 'node:buffer'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { packChunks } from '../../agent/models/packed-chunks.ts'
import { joinTexts } from '../../agent/models/stream-texts.ts'
import { bytesDigest } from '../../signing/digests.ts'
import { parseStrictJson } from '../../signing/strict-json.ts'

export type Clean = (text: string) => string

/** Removes keys from texts; longest first, so that none is replaced within another. */
export function withoutKeys(keys: readonly string[]): Clean {
  const all = [...new Set(keys)].filter((key) => key !== '').sort((a, b) => b.length - a.length)
  return (text) => all.reduce((clean, key) => clean.replaceAll(key, '[key]'), text)
}

/** Whether the record can say what these bytes say: the same numbers, keys and characters. */
export function isExact(bytes: Uint8Array): boolean {
  return parseStrictJson(bytes, { maxBytes: bytes.byteLength, maxDepth: 512, maxKeys: KEYS_MAX }).ok
}

/** Maximum number of keys in a request or an answer. */
export const KEYS_MAX = 1_600_000

export function recordedExchange(value: Json, clean: Clean): Json {
  if (typeof value === 'string') return dataUrl(value) ?? clean(value)
  if (Array.isArray(value)) return value.map((each: Json) => recordedExchange(each, clean))
  if (!isJsonObject(value)) return value
  const members = Object.entries(value).map(
    ([name, each]) => [clean(name), mediaIn(value, name) ?? recordedExchange(each, clean)] as const,
  )
  return Object.fromEntries(members)
}

export function recordedChunks(chunks: readonly Json[], clean: Clean): Json {
  const joined = joinTexts(chunks).map((chunk) => recordedExchange(chunk, clean))
  return packChunks(joined) as unknown as Json
}

/** Recognises the providers' base64 members by an adjacent media type or format. */
function mediaIn(holder: JsonObject, name: string): Json | undefined {
  const value = holder[name]
  if (typeof value !== 'string') return undefined
  const { media_type: mediaType, format, type } = holder
  if (name === 'data' && typeof mediaType === 'string' && type === 'base64') return digestOf(value, mediaType)
  if (name === 'data' && typeof format === 'string') return digestOf(value, `audio/${format}`)
  if (name === 'b64_json') return digestOf(value, 'application/octet-stream')
  return name === 'data' && typeof holder.transcript === 'string' ? digestOf(value, 'audio/*') : undefined
}

const DATA_URL = /^data:([^;,]{0,128})(?:;[^;,]{0,128}){0,8};base64,/i

function dataUrl(text: string): Json | undefined {
  const [begin = '', mediaType = ''] = DATA_URL.exec(text.slice(0, 2_048)) ?? []
  return begin === '' ? undefined : digestOf(text.slice(begin.length), mediaType || 'application/octet-stream')
}

function digestOf(base64: string, mediaType: string): Json {
  const bytes = Buffer.from(base64, 'base64')
  return { digest: bytesDigest(bytes), bytes: bytes.byteLength, mediaType, kept: false }
}
