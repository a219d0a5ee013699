/** @module Codecs for values beyond JSON: they are recorded as tagged JSON, and restored when the record is served. */
import { pointerStep } from '../../../schemas/json-pointer.ts'
import { AgentError } from '../errors.ts'
import { thrownText } from '../thrown.ts'
import { hasToJson, isPlainObject, vanishes } from './plain-value.ts'

/** Records one kind of value as `{"$codec": tag, "value": …}`: objects, and values without a JSON form (`bigint`, `undefined`, `NaN`, symbols). */
export interface Codec<Value = unknown> {
  /** Part of the record: never change it or reuse it for another kind of value. */
  readonly tag: string
  is(value: unknown): value is Value
  /** Returns plain data, which may contain values of other codecs. */
  encode(value: Value): unknown
  decode(recorded: unknown): Value
}

/** The union of the value types that a list of codecs preserves. */
export type CodecValues<C extends readonly Codec[]> = C extends readonly []
  ? never
  : C[number] extends Codec<infer Value>
    ? Value
    : never

/**
 * `Date`, recorded as its time in UTC. An invalid date is refused.
 * @example
 * ```ts
 * import { dateCodec, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:', codecs: [dateCodec] })
 * const kept = await cs.run({ name: 'keep' }, async (run) => run.once('value', () => new Date(0)))
 * console.log(kept instanceof Date)
 * ```
 */
export const dateCodec: Codec<Date> = {
  tag: 'Date',
  is: (value): value is Date => value instanceof Date,
  encode: (value) => value.toISOString(),
  decode: (recorded) => new Date(String(recorded)),
}

/**
 * `Map`, in insertion order.
 * @example
 * ```ts
 * import { mapCodec, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:', codecs: [mapCodec] })
 * const kept = await cs.run({ name: 'keep' }, async (run) => run.once('value', () => new Map([['a', 1]])))
 * console.log(kept instanceof Map)
 * ```
 */
export const mapCodec: Codec<ReadonlyMap<unknown, unknown>> = {
  tag: 'Map',
  is: (value): value is ReadonlyMap<unknown, unknown> => value instanceof Map,
  encode: (value) => [...value].map(([key, item]) => [key, item]),
  decode: (recorded) => new Map(recorded as (readonly [unknown, unknown])[]),
}

/**
 * `Set`, in insertion order.
 * @example
 * ```ts
 * import { setCodec, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:', codecs: [setCodec] })
 * const kept = await cs.run({ name: 'keep' }, async (run) => run.once('value', () => new Set(['a'])))
 * console.log(kept instanceof Set)
 * ```
 */
export const setCodec: Codec<ReadonlySet<unknown>> = {
  tag: 'Set',
  is: (value): value is ReadonlySet<unknown> => value instanceof Set,
  encode: (value) => [...value],
  decode: (recorded) => new Set(recorded as unknown[]),
}

/** Structural type for Node's `Buffer`, so that these declarations do not depend on Node's types. */
interface NodeBytes extends Uint8Array {
  toString(encoding?: 'base64' | 'hex' | 'utf8'): string
  equals(other: Uint8Array): boolean
  readUInt32BE(offset?: number): number
}

/**
 * `Buffer`, as base64.
 * @example
 * ```ts
 * import { bufferCodec, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:', codecs: [bufferCodec] })
 * const kept = await cs.run({ name: 'keep' }, async (run) => run.once('value', () => Buffer.from('a')))
 * console.log(kept instanceof Buffer)
 * ```
 */
export const bufferCodec: Codec<NodeBytes> = {
  tag: 'Buffer',
  is: (value): value is NodeBytes => Buffer.isBuffer(value),
  encode: (value) => value.toString('base64'),
  decode: (recorded) => Buffer.from(String(recorded), 'base64'),
}

const TAG = '$codec'
/** Tag for a plain object that has a `$codec` member of its own. */
const PLAIN = 'object'
const DEPTH_MAX = 200

/** Validates a list of codecs, before a ledger is opened. Throws `invalid-codec`. */
export function checkedCodecs(codecs: readonly Codec[] | undefined): void {
  new Codecs(codecs)
}

function isCodec(given: unknown): given is Codec {
  if (typeof given !== 'object' || given === null) return false
  const { tag, is, encode, decode } = given as Partial<Codec>
  return typeof tag === 'string' && [is, encode, decode].every((each) => typeof each === 'function')
}

/** The codecs of one runtime. */
export class Codecs {
  readonly #byTag: ReadonlyMap<string, Codec>

  /** Indexes the codecs by tag. Throws `invalid-codec` if a tag is missing or used twice, or an entry is no codec. */
  constructor(codecs: readonly Codec[] = []) {
    const byTag = new Map<string, Codec>()
    for (const codec of codecs) {
      if (!isCodec(codec))
        throw new AgentError('invalid-codec', 'a codec has a tag, and the functions is, encode and decode')
      if (codec.tag === '' || codec.tag === PLAIN || byTag.has(codec.tag)) {
        const message = `each codec has a tag of its own, neither empty nor "${PLAIN}": ${JSON.stringify(codec.tag)} is not`
        throw new AgentError('invalid-codec', message, { tag: codec.tag })
      }
      byTag.set(codec.tag, codec)
    }
    this.#byTag = byTag
  }

  get isEmpty(): boolean {
    return this.#byTag.size === 0
  }

  /** Returns the value with tagged JSON in place of codec values. Throws `not-recordable`, with the path, if a codec fails. */
  encode(value: unknown): unknown {
    return this.#encodeAt(value, '', 0)
  }

  /** Restores the value as a new copy, which the caller may change. Throws `codec-failed` if a codec fails, and `codec-missing` for an unknown tag. */
  decode(recorded: unknown): unknown {
    return this.#decodeAt(recorded, undefined)
  }

  #encodeAt(value: unknown, path: string, depth: number): unknown {
    // A cycle ends at the maximum depth and is refused when it is serialized.
    if (depth > DEPTH_MAX || isJsonScalar(value)) return value
    for (const codec of this.#byTag.values()) {
      if (!keeps(codec, value)) continue
      return { [TAG]: codec.tag, value: this.#encodeAt(encoded(codec, value, path), path, depth + 1) }
    }
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return Array.from(value, (item, i) => this.#encodeAt(item, `${path}/${i}`, depth + 1))
    if (!isPlainObject(value) && (hasToJson(value) || vanishes(value))) return value
    const entries = Object.entries(value).map(([key, item]) => {
      return [key, this.#encodeAt(item, path + pointerStep(key), depth + 1)]
    })
    const copy = Object.fromEntries(entries)
    if (!isPlainObject(value)) Object.setPrototypeOf(copy, Object.getPrototypeOf(value))
    return Object.hasOwn(value, TAG) ? { [TAG]: PLAIN, value: copy } : copy
  }

  #decodeAt(recorded: unknown, at: Place | undefined): unknown {
    if (typeof recorded !== 'object' || recorded === null) return recorded
    if (Array.isArray(recorded)) return recorded.map((item, i) => this.#decodeAt(item, { above: at, key: String(i) }))
    const { [TAG]: tag, value } = recorded as Record<string, unknown>
    const isTag = tag !== undefined && isTagged(recorded)
    if (isTag && tag !== PLAIN) return this.#restored(String(tag), value, at)
    const entries = Object.entries(isTag ? (value as object) : recorded).map(([key, item]) => {
      return [key, this.#decodeAt(item, { above: at, key })]
    })
    return Object.fromEntries(entries)
  }

  #restored(tag: string, value: unknown, at: Place | undefined): unknown {
    const codec = this.#byTag.get(tag)
    const path = pointerOf(at)
    if (codec === undefined) {
      const message = `the record holds a ${tag} at ${path || 'the whole'}, and no codec of that tag is named in open({ codecs })`
      throw new AgentError('codec-missing', message, { tag, path })
    }
    try {
      return codec.decode(this.#decodeAt(value, at))
    } catch (error) {
      if (error instanceof AgentError) throw error
      const message = `the codec ${tag} cannot restore what the record holds at ${path || 'the whole'}: ${thrownText(error)}`
      throw new AgentError('codec-failed', message, { tag, path }, { cause: error })
    }
  }
}

/** Path of a value as a linked list; converted to a JSON pointer only for an error. */
interface Place {
  readonly above: Place | undefined
  readonly key: string
}

function pointerOf(at: Place | undefined): string {
  return at === undefined ? '' : pointerOf(at.above) + pointerStep(at.key)
}

function isTagged(recorded: object): boolean {
  return Object.hasOwn(recorded, TAG) && Object.hasOwn(recorded, 'value') && Object.keys(recorded).length === 2
}

/** Whether JSON represents the value exactly, so that no codec is consulted. */
function isJsonScalar(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  return value === null || typeof value === 'string' || typeof value === 'boolean'
}

/** Whether the codec accepts the value. Its `is` may throw for a non-object; that counts as no. */
function keeps(codec: Codec, value: unknown): boolean {
  if (typeof value === 'object') return codec.is(value)
  try {
    return codec.is(value)
  } catch {
    return false
  }
}

function encoded(codec: Codec, value: unknown, path: string): unknown {
  try {
    return codec.encode(value)
  } catch (error) {
    const message = `the codec ${codec.tag} cannot record what is at ${path || 'the whole'}: ${thrownText(error)}`
    throw new AgentError('not-recordable', message, { tag: codec.tag, path }, { cause: error })
  }
}
