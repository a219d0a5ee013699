/** @module Errors as structured clones between threads: the message and, for classes that the other side distinguishes, the data to rebuild them. */

/** An error as a structured clone. */
export interface Failure {
  readonly message: string
  readonly kind?: string
  readonly data?: unknown
}

/** How errors of one class are passed from one thread to another. */
export interface ErrorKind {
  readonly kind: string
  readonly dataOf: (error: unknown) => { readonly data: unknown } | undefined
  readonly make: (data: unknown, message: string) => Error
}

export function errorKind<E extends Error, Data>(
  kind: string,
  of: abstract new (...args: never[]) => E,
  pass: { readonly data: (error: E) => Data; readonly make: (data: Data, message: string) => Error },
): ErrorKind {
  return {
    kind,
    dataOf: (error) => (error instanceof of ? { data: pass.data(error) } : undefined),
    // `data` was produced by `pass.data` of the same kind.
    make: (data, message) => pass.make(data as Data, message),
  }
}

/** Uses the first kind that matches: list a subclass before its superclass. */
export function failureOf(error: unknown, kinds: readonly ErrorKind[]): Failure {
  const message = error instanceof Error ? error.message : String(error)
  for (const { kind, dataOf } of kinds) {
    const found = dataOf(error)
    if (found !== undefined) return { message, kind, data: found.data }
  }
  return { message }
}

export function errorOf({ message, kind, data }: Failure, kinds: readonly ErrorKind[]): Error {
  return kinds.find((each) => each.kind === kind)?.make(data, message) ?? new Error(message)
}
