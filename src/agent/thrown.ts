/**
 * @module Safe access to thrown values. Anything can be thrown, including objects whose members throw when read: getters, proxies, objects without a prototype.
 */

/** One member, or undefined if it cannot be read. */
export function memberOf(value: unknown, name: string | symbol): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined
  try {
    return Reflect.get(value, name)
  } catch {
    return undefined
  }
}

/** The own enumerable members; the value of an unreadable one is undefined. */
export function membersOf(value: object): (readonly [string, unknown])[] {
  try {
    return Object.keys(value).map((name) => [name, memberOf(value, name)] as const)
  } catch {
    return []
  }
}

/** The message of a thrown value, or the value as text. */
export function thrownText(thrown: unknown): string {
  const message = memberOf(thrown, 'message')
  return typeof message === 'string' ? message : asText(thrown)
}

/** The message, prefixed with the name if there is one. */
export function thrownReason(thrown: unknown): string {
  const name = memberOf(thrown, 'name')
  return typeof name === 'string' && name !== '' ? `${name}: ${thrownText(thrown)}` : thrownText(thrown)
}

function asText(value: unknown): string {
  try {
    return String(value)
  } catch {
    return 'something was thrown that cannot be shown as text'
  }
}

/** Members that are read while a failure is judged and recorded. */
const READ = ['name', 'message', 'code', 'status', 'statusCode', 'cause'] as const

/** Returns the thrown value if all of `READ` can be read; otherwise an error with the readable members and the thrown value as its cause. */
export function readable(thrown: unknown): unknown {
  if ((typeof thrown !== 'object' && typeof thrown !== 'function') || thrown === null) return thrown
  try {
    void (thrown instanceof Error)
    for (const name of READ) void Reflect.get(thrown, name)
    if (typeof Reflect.get(thrown, 'message') !== 'string') void String(thrown)
    return thrown
  } catch {
    const error = new Error(thrownText(thrown), { cause: thrown })
    for (const member of READ) {
      const value = member === 'message' || member === 'cause' ? undefined : memberOf(thrown, member)
      if (value !== undefined) Object.defineProperty(error, member, { value, enumerable: member !== 'name' })
    }
    return error
  }
}

/** The cause of an error, made readable; undefined if it cannot be read. */
export function causeOf(error: unknown): unknown {
  return readable(memberOf(error, 'cause'))
}

const CAUSES_MAX = 5

/** An error and its causes, because libraries wrap errors. */
export function* causesOf(error: unknown): Generator<Error, void> {
  let cause = error
  for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth += 1) {
    yield cause
    cause = causeOf(cause)
  }
}

/** The error that `check` throws, if any. */
export function errorIn(check: () => void): Error | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    return error instanceof Error ? error : new TypeError(String(error))
  }
}
