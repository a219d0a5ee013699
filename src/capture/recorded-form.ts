/** @module The recorded form of arguments and answers: images, sounds and files become digests, and secrets of this process's environment are removed. */
import { Buffer } from 'node:buffer'
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import { bytesDigest } from '../signing/digests.ts'

/** Shorter values are common words and numbers, which may occur anywhere. */
const SECRET_MIN_CHARS = 8
const SECRET_NAME = /key|token|secret|passw|credential|auth|cookie|session|private|dsn|database_url|connection/i

export type Secrets = readonly (readonly [name: string, value: string])[]

/** Values of environment variables whose names suggest a secret; longest first, so that none is replaced within another. */
export function secretsOf(env: Readonly<Record<string, string | undefined>>): Secrets {
  return Object.entries(env)
    .flatMap(([name, value]) =>
      value !== undefined && value.length >= SECRET_MIN_CHARS && SECRET_NAME.test(name) ? [[name, value] as const] : [],
    )
    .sort(([, a], [, b]) => b.length - a.length)
}

/** Replaces the bytes of images, sounds and files by their digest, and removes secrets. */
export function recordedForm(value: Json, secrets: Secrets): Json {
  if (typeof value === 'string') return withoutSecrets(value, secrets)
  if (Array.isArray(value)) return value.map((each: Json) => recordedForm(each, secrets))
  if (!isJsonObject(value)) return value
  const members = Object.entries(value).map(([name, each]) => {
    const bytes = bytesIn(value, name)
    const form = bytes === undefined ? recordedForm(each, secrets) : digestOf(bytes, value)
    return [withoutSecrets(name, secrets), form] as const
  })
  return Object.fromEntries(members)
}

/** Whether part of a recorded answer is only a digest: an object in place of the protocol's text. */
export function isReduced(recorded: Json): boolean {
  if (Array.isArray(recorded)) return recorded.some(isReduced)
  if (!isJsonObject(recorded)) return false
  return ['data', 'blob', 'base64'].some((name) => isDigest(recorded[name])) || Object.values(recorded).some(isReduced)
}

function isDigest(value: Json | undefined): boolean {
  return isJsonObject(value) && typeof value.digest === 'string' && value.kept === false
}

/** Base64 members: `data` of an image or sound and `blob` of a resource in the protocol; `data` of a source and `base64` of a file in coding agents. */
function bytesIn(holder: JsonObject, name: string): string | undefined {
  const value = holder[name]
  if (typeof value !== 'string') return undefined
  const isMedia = name === 'data' && ['image', 'audio', 'base64'].some((type) => type === holder.type)
  const isBlob = name === 'blob' && typeof holder.uri === 'string'
  const isFile = name === 'base64' && typeof holder.type === 'string' && holder.type.includes('/')
  return isMedia || isBlob || isFile ? value : undefined
}

function digestOf(base64: string, { mimeType, media_type: ofSource, type }: JsonObject): Json {
  const bytes = Buffer.from(base64, 'base64')
  const named = [mimeType, ofSource, type].find((each) => typeof each === 'string' && each.includes('/'))
  const mediaType = typeof named === 'string' ? named : 'application/octet-stream'
  return { digest: bytesDigest(bytes), bytes: bytes.byteLength, mediaType, kept: false }
}

export function withoutSecrets(text: string, secrets: Secrets): string {
  let clean = text
  for (const [name, value] of secrets) clean = clean.replaceAll(value, () => `[secret of the environment: ${name}]`)
  return clean
}
