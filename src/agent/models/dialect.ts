/** @module How one kind of request of one provider is read and written. */
import type { ModelUsage } from './price-table.ts'

export type Fields = Readonly<Record<string, unknown>>

/** How one kind of request of one provider is read and written. */
export interface Dialect {
  readonly provider: string
  /** Default: `chat`. */
  readonly operation?: 'embeddings'
  /** The caller's own bound on all that may come out. */
  readonly boundIn: (request: Fields) => number | undefined
  /** The request with a bound that it does not have. */
  readonly bounded: (request: Fields, bound: number) => Fields
  /** A streamed request that asks for its usage, too. */
  readonly askingUsage: (request: Fields) => Fields
  readonly usage: (answer: Fields) => ModelUsage | undefined
  /** The last word of all chunks. */
  readonly streamUsage: (chunks: readonly Fields[]) => ModelUsage | undefined
  /** The chunk as a caller gets it who requested no usage; undefined: it is there for the usage alone. */
  readonly shown: (chunk: Fields, request: Fields) => Fields | undefined
}

export function fieldsIn(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

/** A whole number from 0; undefined for anything else. */
export function countIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
