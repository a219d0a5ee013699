/** @module JSON data types: converts the type inferred from a schema by removing the `undefined` that it allows for optional members. */
import type { Json } from './json.ts'

/** The same data as JSON: no member is `undefined`. */
export type Plain<T> = [Json] extends [T]
  ? T
  : T extends object
    ? { [Member in keyof T]: Plain<Exclude<T[Member], undefined>> }
    : T

/** Casts data read from JSON or about to be written as JSON: schema types allow optional members to be `undefined`, but the ledger creates none. */
export function plain<T>(value: T): Plain<T> {
  return value as Plain<T>
}
