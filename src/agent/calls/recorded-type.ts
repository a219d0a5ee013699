/** @module The type of a value as the record keeps it: what JSON makes of it, but for what a codec keeps. */
import type { Json } from '../../../schemas/json.ts'

/** Nothing of it is left in JSON: such a result is refused. */
type Vanishing =
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | WeakMap<object, unknown>
  | WeakSet<object>
  | Error
  | bigint
  | URLSearchParams
  | Headers
  | Response
  | Request
  | ReadableStream

type Omitted = undefined | symbol | ((...args: never[]) => unknown)

type IsAny<T> = 0 extends 1 & T ? true : false

/**
 * A result as its caller sees it, live and from the record: `toJSON` called, members that JSON leaves out dropped, nothing at all is null. `Kept`
 * is what the runtime's codecs restore. Types that are JSON already stay what they are.
 */
export type Recorded<T, Keeps = never> =
  IsAny<T> extends true
    ? T
    : unknown extends T
      ? T
      : [T] extends [Json]
        ? T
        : T extends Keeps
          ? T
          : T extends Vanishing
            ? never
            : T extends Omitted
              ? null
              : undefined extends T
                ? null
                : T extends { toJSON(): infer J }
                  ? Recorded<J, Keeps>
                  : T extends object
                    ? SameOr<T, RecordedObject<T, Keeps>>
                    : T

/** The same type, where nothing changes: names stay readable. */
type SameOr<T, R> = [T] extends [R] ? ([R] extends [T] ? T : R) : R

type RecordedObject<T, Keeps> = T extends readonly unknown[]
  ? { [I in keyof T]: Recorded<T[I], Keeps> }
  : { [K in keyof T as Stays<T[K], K>]: Recorded<Exclude<T[K], Omitted>, Keeps> }

/** A member is left out where it cannot be anything else than what JSON leaves out. */
type Stays<Value, Key> =
  IsAny<Value> extends true
    ? Key
    : unknown extends Value
      ? Key
      : Key extends symbol
        ? never
        : [Value] extends [Omitted]
          ? [Value] extends [never]
            ? Key
            : never
          : Key
