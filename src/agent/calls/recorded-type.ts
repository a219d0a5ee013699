/** @module The type of a value in its recorded form: its JSON form, except for values that a codec preserves. */
import type { Json } from '../../../schemas/json.ts'

/** Types whose content is lost in JSON; a result of such a type is refused. */
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
 * The type of a result as its caller sees it, live and from the record: `toJSON` is called, members that JSON omits are dropped, undefined is null. `Keeps`:
 * types that the runtime's codecs restore. Types that are JSON already are unchanged.
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

/** Keeps the original type if nothing changes, so that its name stays readable. */
type SameOr<T, R> = [T] extends [R] ? ([R] extends [T] ? T : R) : R

type RecordedObject<T, Keeps> = T extends readonly unknown[]
  ? { [I in keyof T]: Recorded<T[I], Keeps> }
  : { [K in keyof T as Stays<T[K], K>]: Recorded<Exclude<T[K], Omitted>, Keeps> }

/** A member is dropped if its type consists only of types that JSON omits. */
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
