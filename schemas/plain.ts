/** @module Data as JSON says it: what a schema infers, less the `undefined` that it allows an optional member to be. */
import type { Json } from './json.ts'

/** The same data as JSON says it: no member is `undefined`. */
export type Plain<T> = [Json] extends [T]
  ? T
  : T extends object
    ? { [Member in keyof T]: Plain<Exclude<T[Member], undefined>> }
    : T

/** What was read as JSON, or is about to be written as it: the types of schemas allow an optional member to be `undefined`, the ledger makes none. */
export function plain<T>(value: T): Plain<T> {
  return value as Plain<T>
}
