/** @module Values that a rule keeps: encrypted when an event is written, and decrypted while their key exists (LIFE-1, LIFE-2, LIFE-5). */
import { randomBytes } from 'node:crypto'
import { isJsonObject, type Json, type JsonObject, parseJsonOrUndefined } from '../../../schemas/json.ts'
import { parsePointer, valueAt } from '../../../schemas/json-pointer.ts'
import {
  ERASED,
  inPlaceOf,
  KEY_MISSING,
  type KeptValues,
  MARKER_BEGINS,
  withKept,
} from '../../../schemas/redacted-parts.ts'
import {
  type Keep,
  type Kept,
  REDACTED_LISTED_MAX,
  REDACTED_POINTER_MAX_CHARS,
  type Redacted,
} from '../../../schemas/redaction.ts'
import type { RedactedPlace } from '../../domain/redaction/redact-value.ts'
import { blindValue } from '../../signing/blind.ts'
import { canonicalJson } from '../../signing/canonical-json.ts'
import { decryptUnder, encryptUnder, type SubjectKey } from '../../signing/subject-key.ts'
import type { SubjectKeys } from './subject-keys.ts'

const NONCE_BYTES = 12
/** Member name of the call key, next to the values, which are named by their markers. */
const CALL_KEY = 'callKey'
/** Subject of values that belong to the run itself. */
export const runSubject = (run: string): string => `run:${run}`

interface Place {
  readonly tenant: string
  readonly stream: string
  readonly run: string
}

/** The values that one command keeps. Keys are created, and their use noted, when they are first needed. */
export class Keeping {
  readonly #keys: SubjectKeys
  readonly #place: Place
  readonly #body: JsonObject
  readonly #bySubject = new Map<string, SubjectKey>()
  /** Call keys by their recorded form. */
  readonly #callKeys = new Map<string, string>()

  constructor(keys: SubjectKeys, place: Place, body: JsonObject) {
    this.#keys = keys
    this.#place = place
    this.#body = body
  }

  /** The digest in a marker, under the key of its subject: once that is destroyed, values can no longer be guessed by trying. */
  blind(text: string, keep: Keep): string {
    return blindValue(this.#keyOf(keep).mark, text)
  }

  /** A digest of what was sent, under the keys of all subjects whose values it contains. */
  blindAll(digest: string): string {
    const keys = [...this.#bySubject.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
    return keys.reduce((text, { mark }) => blindValue(mark, text), digest)
  }

  /** Notes the key by which the calling code knows the call, so that a replay can find it. */
  noteCallKey(callKey: string, recorded: string): void {
    this.#callKeys.set(recorded, callKey)
  }

  /** One ciphertext per key, with the values whose markers are in the body of the event. */
  kept(type: string, data: JsonObject, leftOut: readonly RedactedPlace[]): Kept[] {
    const text = canonicalJson(data)
    const byKey = new Map<SubjectKey, RedactedPlace[]>()
    for (const place of leftOut) {
      if (place.kept === undefined || !text.includes(place.kept.marker)) continue
      const key = this.#keyOf(place.kept.keep)
      byKey.set(key, [...(byKey.get(key) ?? []), place])
    }
    const callKey = this.#callKeyUnder([...byKey.keys()], type, data)
    return [...byKey].map(([key, places], n) => {
      const values = Object.fromEntries(places.flatMap(({ kept }) => (kept ? [[kept.marker, kept.value]] : [])))
      const at = places.map((each) => each.at).filter((each) => each.length <= REDACTED_POINTER_MAX_CHARS)
      const all = n === 0 && callKey !== undefined ? { ...values, [CALL_KEY]: callKey } : values
      const $enc = this.#encrypted(key, type, canonicalJson(all))
      return { key: key.id, count: places.length, at: at.slice(0, REDACTED_LISTED_MAX), $enc }
    })
  }

  /** The call key contains a digest of everything that was sent, so it is encrypted under every key, the first one last. */
  #callKeyUnder([, ...rest]: readonly SubjectKey[], type: string, { key }: JsonObject): string | undefined {
    const plain = typeof key === 'string' ? this.#callKeys.get(key) : undefined
    return plain === undefined ? undefined : rest.reduce((text, each) => this.#encrypted(each, type, text), plain)
  }

  #encrypted(key: SubjectKey, type: string, text: string): string {
    const aad = aadOf(this.#keys.ledgerId, { ...this.#place, type, key: key.id })
    return encryptUnder(key, aad, { text, nonce: randomBytes(NONCE_BYTES) })
  }

  #keyOf({ subject }: Keep): SubjectKey {
    const known = this.#bySubject.get(subject)
    if (known !== undefined) return known
    const { tenant, run } = this.#place
    const name = (subject === 'run' ? undefined : subjectAt(this.#body, subject)) ?? runSubject(run)
    const key = this.#keys.inUse(tenant, name, run)
    this.#bySubject.set(subject, key)
    return key
  }
}

const SUBJECT_MAX_CHARS = 512

/** Searches the values of the request, the members of lists among them, and the request itself. */
function subjectAt(body: JsonObject, pointer: string): string | undefined {
  const tokens = parsePointer(pointer) ?? []
  const values = Object.values(body).flatMap((value) => (Array.isArray(value) ? (value as Json[]) : [value]))
  for (const value of [...values, body]) {
    const found = isJsonObject(value) ? valueAt(value, tokens) : undefined
    if (typeof found === 'number') return String(found)
    if (typeof found !== 'string' || found === '' || found.length > SUBJECT_MAX_CHARS) continue
    if (!found.startsWith(MARKER_BEGINS)) return found
  }
  return undefined
}

interface Sealed {
  readonly tenant: string
  readonly stream: string
  readonly type: string
  readonly key: string
}

function aadOf(ledgerId: string, { tenant, stream, type, key }: Sealed): string {
  return canonicalJson(['countersign/kept/v1', ledgerId, tenant, stream, type, key])
}

export interface KeptEvent {
  readonly header: { readonly tenant: string; readonly stream: string; readonly type: string }
  readonly data: object
}

export function redactedOf(data: object): Redacted | undefined {
  return 'redacted' in data ? (data.redacted as Redacted | undefined) : undefined
}

/** Undefined if nothing in the event is encrypted. */
export function keptIn(keys: SubjectKeys | undefined, { header, data }: KeptEvent): KeptValues | undefined {
  const kept = redactedOf(data)?.kept
  if (kept === undefined) return undefined
  let values: { [marker: string]: Json } = {}
  const [erased, missing]: [string[], string[]] = [[], []]
  let callKey: string | undefined
  for (const [n, { key: id, $enc }] of kept.entries()) {
    const key = keys?.byId(id)
    const aad = aadOf(keys?.ledgerId ?? '', { ...header, key: id })
    const text = key && decryptUnder(key, aad, $enc)
    const read = text === undefined ? undefined : parseJsonOrUndefined(text)
    if (!isJsonObject(read ?? null)) {
      if (key === undefined && keys?.fateOf(id) === 'erased') erased.push(id)
      else missing.push(id)
      continue
    }
    const { [CALL_KEY]: first, ...rest } = read as JsonObject
    values = { ...values, ...rest }
    if (n === 0 && typeof first === 'string') callKey = first
  }
  const isComplete = erased.length === 0 && missing.length === 0
  if (callKey !== undefined && isComplete) {
    for (const { key: id } of kept.slice(1).reverse()) {
      const key = keys?.byId(id)
      const aad = aadOf(keys?.ledgerId ?? '', { ...header, key: id })
      callKey = key && callKey && decryptUnder(key, aad, callKey)
    }
  }
  return {
    values,
    erased,
    ...(missing.length > 0 && { missing }),
    ...(callKey !== undefined && isComplete && { callKey }),
  }
}

/** The event for a caller that may read bodies. */
export function readable<T extends KeptEvent>(keys: SubjectKeys | undefined, event: T): T {
  const kept = keptIn(keys, event)
  return kept === undefined
    ? event
    : { ...event, data: withKept(event.data as JsonObject, kept) as unknown as T['data'] }
}

/** Whether it contains a text that may be a marker for another value. */
export function holdsMarker(value: Json): boolean {
  if (typeof value === 'string') return value.startsWith(MARKER_BEGINS)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([name, each]) => name.startsWith(MARKER_BEGINS) || holdsMarker(each as Json))
}

/** The encrypted values of the events of a run, for a document made from several of them. */
export class RunValues {
  readonly #keys: SubjectKeys
  readonly #values = new Map<string, Json>()
  /** Replacement texts for markers whose key is gone. */
  readonly #gone = new Map<string, string>()

  constructor(keys: SubjectKeys) {
    this.#keys = keys
  }

  take(event: KeptEvent): void {
    const kept = keptIn(this.#keys, event)
    if (kept === undefined) return
    for (const [marker, value] of Object.entries(kept.values)) this.#values.set(marker, value)
    for (const { key, at } of redactedOf(event.data)?.kept ?? []) {
      const said = kept.erased.includes(key) ? ERASED : kept.missing?.includes(key) ? KEY_MISSING : undefined
      if (said === undefined) continue
      for (const place of at) this.#lacks(valueAt(event.data as JsonObject, parsePointer(place) ?? []), said)
    }
  }

  readable(value: Json): Json {
    return inPlaceOf(value, (marker) => this.#values.get(marker) ?? this.#gone.get(marker))
  }

  #lacks(value: Json | undefined, said: string): void {
    if (typeof value === 'string' && value.startsWith(MARKER_BEGINS)) this.#gone.set(value, said)
  }
}
