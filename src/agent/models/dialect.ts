/** @module The interface for reading and writing one kind of request of one provider. */
import type { ModelUsage } from './price-table.ts'

export type Fields = Readonly<Record<string, unknown>>

/** Reads and writes one kind of request of one provider. */
export interface Dialect {
  readonly provider: string
  /** Default: `chat`. */
  readonly operation?: 'embeddings'
  /** The caller's own limit on all output of the request, in tokens. */
  readonly boundIn: (request: Fields) => number | undefined
  /** Adds an output limit to a request that has none. */
  readonly bounded: (request: Fields, bound: number) => Fields
  /** Adds to a streamed request the option to report usage. */
  readonly askingUsage: (request: Fields) => Fields
  readonly usage: (answer: Fields) => ModelUsage | undefined
  /** The final usage reported by the chunks. */
  readonly streamUsage: (chunks: readonly Fields[]) => ModelUsage | undefined
  /** The chunk as the caller of this request receives it; undefined for a chunk that only reports usage the caller did not request. */
  readonly shown: (chunk: Fields, request: Fields) => Fields | undefined
}

export function fieldsIn(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

/** Returns a whole number from 0, and undefined for any other value. */
export function countIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
