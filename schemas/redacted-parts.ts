/**
 * @module Finds redacted parts of an event body and fills in values that are still readable. Needs no schema library, because the client
 * package uses it too.
 */
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import { parsePointer } from './json-pointer.ts'
import type { Redacted } from './redaction.ts'

/** Prefix of every marker that replaces a redacted value. */
export const MARKER_BEGINS = '[redacted: '

/** Whether a member of a body lacks redacted values. If the event lists fewer places than values were redacted, any member may be affected. */
export function lacks(redacted: Redacted | undefined, member: string): boolean {
  if (redacted === undefined) return false
  const { counts, values, kept = [] } = redacted
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const isIn = (at: string): boolean => at === `/${member}` || at.startsWith(`/${member}/`)
  return (
    total > values.length ||
    values.some(({ at }) => isIn(at)) ||
    kept.some(({ count, at }) => count > at.length || at.some(isIn))
  )
}

/** Replaces a value whose key was destroyed. */
export const ERASED = '[erased]'
/** Replaces a value whose key is missing, although no recorded erasure explains this. */
export const KEY_MISSING = '[key missing]'

const BESIDE = ['inputRef', 'argsRef', 'resultRef', 'outputRef']

/** The decrypted values of an event by their markers, and the ids of the keys that no longer exist. */
export interface KeptValues {
  readonly values: { readonly [marker: string]: Json }
  readonly erased: readonly string[]
  /** Ids of missing keys that no recorded erasure names: their values become readable again once the key file is restored. */
  readonly missing?: readonly string[]
  /** For a call: its original key, if that was redacted too. */
  readonly callKey?: string
}

/**
 * A body with the readable values filled in, `[erased]` or `[key missing]` in place of the others, and `redacted` reduced to what the body
 * still lacks (LIFE-5).
 */
export function withKept(body: JsonObject, { values, erased, missing = [], callKey }: KeptValues): JsonObject {
  const { redacted: said, ...rest } = body
  const { kept = [], ...dropped } = said as unknown as Redacted
  // A value stored separately contains the markers itself, so its encrypted values count as missing.
  const isBeside = BESIDE.some((name) => Object.hasOwn(rest, name))
  const gone = kept.filter(({ key }) => isBeside || erased.includes(key) || missing.includes(key))
  let data = inPlaceOf(rest, (text) => values[text])
  for (const { key, at } of gone) {
    const by = missing.includes(key) ? KEY_MISSING : ERASED
    for (const each of at) data = erasedAt(data, parsePointer(each) ?? [], by)
  }
  const lacking = { ...dropped, ...(gone.length > 0 && { kept: gone }) }
  const isWhole = gone.length === 0 && Object.keys(dropped.counts).length === 0
  const known = callKey === undefined ? {} : { key: callKey }
  return { ...(data as JsonObject), ...known, ...(!isWhole && { redacted: lacking as unknown as Json }) }
}

/** Replaces texts and member names that are markers by the values they represent. */
export function inPlaceOf(value: Json, standsFor: (marker: string) => Json | undefined): Json {
  if (typeof value === 'string') return (value.startsWith(MARKER_BEGINS) ? standsFor(value) : undefined) ?? value
  if (Array.isArray(value)) return value.map((each) => inPlaceOf(each, standsFor))
  if (!isJsonObject(value)) return value
  const members = Object.entries(value).map(([name, each]): [string, Json] => {
    const named = name.startsWith(MARKER_BEGINS) ? standsFor(name) : undefined
    return [typeof named === 'string' ? named : name, inPlaceOf(each, standsFor)]
  })
  return Object.fromEntries(members)
}

function erasedAt(value: Json, tokens: readonly string[], by: string): Json {
  const [token, ...rest] = tokens
  if (token === undefined) return typeof value === 'string' && value.startsWith(MARKER_BEGINS) ? by : value
  if (Array.isArray(value)) return value.map((each, i) => (String(i) === token ? erasedAt(each, rest, by) : each))
  if (!isJsonObject(value) || !Object.hasOwn(value, token)) return value
  return { ...value, [token]: erasedAt(value[token] as Json, rest, by) }
}
