/** @module What is recorded of arguments and answers: images, sounds and files as digests, and no secret of this process's environment. */
import { Buffer } from 'node:buffer'
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import { bytesDigest } from '../signing/digests.ts'

/** Shorter values are words and numbers that stand anywhere. */
const SECRET_MIN_CHARS = 8
const SECRET_NAME = /key|token|secret|passw|credential|auth|cookie|session|private|dsn|database_url|connection/i

export type Secrets = readonly (readonly [name: string, value: string])[]

/** Values of the environment whose names say that they are secret, the longest first, so that none is found within another. */
export function secretsOf(env: Readonly<Record<string, string | undefined>>): Secrets {
  return Object.entries(env)
    .flatMap(([name, value]) =>
      value !== undefined && value.length >= SECRET_MIN_CHARS && SECRET_NAME.test(name) ? [[name, value] as const] : [],
    )
    .sort(([, a], [, b]) => b.length - a.length)
}

/** The value with the bytes of images, sounds and files replaced by what identifies them, and without secrets. */
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

/** Whether some of a recorded answer is there as a digest only: where the protocol has a text, there is an object. */
export function isReduced(recorded: Json): boolean {
  if (Array.isArray(recorded)) return recorded.some(isReduced)
  if (!isJsonObject(recorded)) return false
  return ['data', 'blob', 'base64'].some((name) => isDigest(recorded[name])) || Object.values(recorded).some(isReduced)
}

function isDigest(value: Json | undefined): boolean {
  return isJsonObject(value) && typeof value.digest === 'string' && value.kept === false
}

/** `data` of an image or a sound, `blob` of a resource, as the protocol encodes them; `data` of a source and `base64` of a file, as coding agents do. */
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
