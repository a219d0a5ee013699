/** @module The slice of the context that an agent is shown: what it may read, in the order a slicer wants it, packed to a limit of tokens. */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { recordable } from '../calls/recordable.ts'
import { AgentError } from '../errors.ts'
import type { TokenCounter } from './token-counter.ts'

/** What a slicer receives beside the context. */
export interface SliceRequest {
  /** Top-level keys, latest changed first; those of one step in code unit order. */
  readonly recency: readonly string[]
  readonly task: string | undefined
  readonly agent: string
  /** Absent: no limit. */
  readonly maxTokens: number | undefined
}

/**
 * Says what of the context the agent is to see: top-level keys, most wanted first, or an object of its own making whose keys are taken
 * in their order. Either is packed: what does not fit is left out, and the next is tried.
 */
export type Slicer = (
  context: JsonObject,
  request: SliceRequest,
) => readonly string[] | JsonObject | Promise<readonly string[] | JsonObject>

/** Stands in the record beside what the agent gave. */
export interface SliceReport {
  readonly keys: readonly string[]
  /** Keys that it may read and was not shown, for want of room or because the slicer did not ask for them. */
  readonly omitted: readonly string[]
  readonly tokens: number
  /** What counted them. */
  readonly counter: string
}

export interface Slice {
  readonly slice: JsonObject
  readonly report: SliceReport
}

/** Only the keys that the manifest lets the agent read. */
export function readable(context: JsonObject, reads: readonly string[] | undefined): JsonObject {
  if (reads === undefined) return context
  return pick(
    context,
    reads.filter((key) => Object.hasOwn(context, key)),
  )
}

/** Throws `missing-key`, `invalid-slice`, and what the slicer throws. */
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

/** All of them where they fit; else each in turn, where it fits. Each section is counted once, the whole a few times at most. */
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
  // Tokens do not add up exactly over a seam: the whole is what counts.
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
