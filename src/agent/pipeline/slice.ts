/** @module The slice of the context that an agent is shown: readable keys, in the order of a slicer, packed to a token limit. */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { recordable } from '../calls/recordable.ts'
import { AgentError } from '../errors.ts'
import type { TokenCounter } from './token-counter.ts'

/** The input of a slicer, in addition to the context. */
export interface SliceRequest {
  /** Top-level keys, latest changed first; the keys of one step are in code unit order. */
  readonly recency: readonly string[]
  readonly task: string | undefined
  readonly agent: string
  /** Absent: no limit. */
  readonly maxTokens: number | undefined
}

/**
 * Selects the content of the slice: top-level keys, most important first, or a new object whose keys are used in their order. Keys that do not fit the limit
 * are skipped, and the next one is tried.
 */
export type Slicer = (
  context: JsonObject,
  request: SliceRequest,
) => readonly string[] | JsonObject | Promise<readonly string[] | JsonObject>

/** Recorded together with the agent's answer. */
export interface SliceReport {
  readonly keys: readonly string[]
  /** Keys that the agent may read and was not shown, because they did not fit or the slicer did not select them. */
  readonly omitted: readonly string[]
  readonly tokens: number
  /** Name of the token counter. */
  readonly counter: string
}

export interface Slice {
  readonly slice: JsonObject
  readonly report: SliceReport
}

/** The part of the context that the manifest lets the agent read. */
export function readable(context: JsonObject, reads: readonly string[] | undefined): JsonObject {
  if (reads === undefined) return context
  return pick(
    context,
    reads.filter((key) => Object.hasOwn(context, key)),
  )
}

/** The slice of the context that a slicer selects for an agent. Throws `missing-key`, `invalid-slice`, and the slicer's errors. */
export async function sliceOf(
  context: JsonObject,
  inputs: { readonly slicer: Slicer; readonly request: SliceRequest; readonly counter: TokenCounter },
): Promise<Slice> {
  const { slicer, request, counter } = inputs
  const selected = await slicer(context, request)
  const source = isList(selected) ? context : objectOf(selected)
  const keys = isList(selected) ? [...new Set(selected)] : Object.keys(source)
  const missing = keys.filter((key) => !Object.hasOwn(source, key))
  if (missing.length > 0) throw missingKeys(missing, context)

  const { maxTokens = Number.POSITIVE_INFINITY } = request
  const included = packed(source, keys, { maxTokens, count: counter.count })
  const slice = pick(source, included)
  const shown = new Set(included)
  const omitted = Object.keys({ ...context, ...source }).filter((key) => !shown.has(key))
  const tokens = included.length === 0 ? 0 : counter.count(JSON.stringify(slice))
  return { slice, report: { keys: included, omitted: omitted.sort(), tokens, counter: counter.name } }
}

function missingKeys(keys: readonly string[], context: JsonObject): AgentError {
  const present = Object.keys(context).sort()
  const message = `the slice names ${keys.join(', ')}, which the agent cannot read: the context it may read has ${present.join(', ') || 'no key yet'}`
  return new AgentError('missing-key', message, { missing: [...keys], present })
}

/** Returns all keys if they fit; otherwise each in turn that fits. Each section is counted once, and the whole slice only a few times. */
function packed(
  source: JsonObject,
  keys: readonly string[],
  { maxTokens, count }: { maxTokens: number; count: (text: string) => number },
): readonly string[] {
  const fits = (some: readonly string[]): boolean => count(JSON.stringify(pick(source, some))) <= maxTokens
  if (maxTokens === Number.POSITIVE_INFINITY || fits(keys)) return keys
  const included: string[] = []
  let used = count('{}')
  for (const key of keys) {
    const tokens = count(`${JSON.stringify(key)}:${JSON.stringify(source[key])},`)
    if (used + tokens > maxTokens) continue
    used += tokens
    included.push(key)
  }
  // The token counts of parts do not add up exactly, so the whole slice is counted.
  for (let drop = 1; included.length > 0 && !fits(included); drop *= 2) {
    included.splice(-drop)
  }
  return included
}

function pick(source: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.map((key) => [key, source[key] as Json]))
}

function objectOf(selected: unknown): JsonObject {
  const recorded = recordable(selected)
  if (recorded.ok && isJsonObject(recorded.value)) return recorded.value
  throw new AgentError('invalid-slice', 'a slicer gives keys of the context, or a JSON object')
}

function isList(selected: readonly string[] | JsonObject): selected is readonly string[] {
  return Array.isArray(selected)
}
