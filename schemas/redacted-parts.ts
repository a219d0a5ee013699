/** @module Whether part of a body was left out. Needs no schema library: the client package asks it, too. */
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import { parsePointer } from './json-pointer.ts'
import type { Redacted } from './redaction.ts'

/** Whatever is in the place of a value that was left out begins so. */
export const MARKER_BEGINS = '[redacted: '

/** Whether something of a member was left out of a body. Where more was left out than is listed, any member may lack something. */
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

/** In the place of a value whose key was destroyed. */
export const ERASED = '[erased]'
/** The same, where the key is not there and no erasure on record says why. */
export const KEY_MISSING = '[key missing]'

const BESIDE = ['inputRef', 'argsRef', 'resultRef', 'outputRef']

/** What is encrypted in an event, read: values by their markers, and the ids of the keys that are gone. */
export interface KeptValues {
  readonly values: { readonly [marker: string]: Json }
  readonly erased: readonly string[]
  /** Ids of keys that are not there, which no erasure on record names: what they encrypt may be read again once the file of the keys is put back. */
  readonly missing?: readonly string[]
  /** Of a call: what its code knows it by, where that was left out of the record as well. */
  readonly callKey?: string
}

/** A body with the values that could be read, `[erased]` or `[key missing]` in the place of the others, and `redacted` saying what it still lacks (LIFE-5). */
export function withKept(body: JsonObject, { values, erased, missing = [], callKey }: KeptValues): JsonObject {
  const { redacted: said, ...rest } = body
  const { kept = [], ...dropped } = said as unknown as Redacted
  // A value that lies beside the events holds its markers there: it is not what was sent.
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

/** Texts and names that are markers become what they stand for. */
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
