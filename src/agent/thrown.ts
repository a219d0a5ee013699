/** @module Reading what was thrown. Anything can be thrown, also what throws when it is read: a getter, a proxy, an object without a prototype. */

/** One member, undefined where it cannot be read. */
export function memberOf(value: unknown, name: string | symbol): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined
  try {
    return Reflect.get(value, name)
  } catch {
    return undefined
  }
}

/** Own enumerable members that can be read. */
export function membersOf(value: object): (readonly [string, unknown])[] {
  try {
    return Object.keys(value).map((name) => [name, memberOf(value, name)] as const)
  } catch {
    return []
  }
}

/** Its message, or what it is as text. */
export function thrownText(thrown: unknown): string {
  const message = memberOf(thrown, 'message')
  return typeof message === 'string' ? message : asText(thrown)
}

/** With its name in front, where it has one. */
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

/** Read of errors while a failure is judged and recorded. */
const READ = ['name', 'message', 'code', 'status', 'statusCode', 'cause'] as const

/** What was thrown, where all of it can be read; else an error with what can be, and the other as its cause. */
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

/** What an error was thrown for, as far as that can be read. */
export function causeOf(error: unknown): unknown {
  return readable(memberOf(error, 'cause'))
}
