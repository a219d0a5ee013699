/** @module The rules of strict JSON for a value built in process instead of parsed. */
import { type JsonError, type JsonErrorCode, jsonPointer } from './json-error.ts'

export interface ValueLimits {
  readonly maxDepth: number
  readonly maxKeys: number
  /** Compared with a lower bound of the JSON text's length; it ends the walk of a value that contains its parts many times over. */
  readonly maxBytes: number
}

interface Walk {
  readonly limits: ValueLimits
  depth: number
  keyCount: number
  chars: number
  readonly path: (string | number)[]
  refusal: { readonly code: JsonErrorCode; readonly message: string } | undefined
}

/** The first fault of a value; undefined if there is none. A proxy that throws gives `json-type`. */
export function checkValue(value: unknown, limits: ValueLimits): JsonError | undefined {
  const walk: Walk = { limits, depth: 0, keyCount: 0, chars: 0, path: [], refusal: undefined }
  try {
    if (isJson(walk, value)) return undefined
  } catch {
    refuse(walk, 'json-type', 'the value cannot be read')
  }
  const { code, message } = walk.refusal ?? { code: 'json-type', message: 'not a JSON value' }
  return { code, message, offset: 0, pointer: jsonPointer(walk.path.reverse()) }
}

function isJson(walk: Walk, value: unknown): boolean {
  if (++walk.chars > walk.limits.maxBytes) return tooLarge(walk)
  switch (typeof value) {
    case 'string':
      return isText(walk, value)
    case 'number':
      return isKeptNumber(walk, value)
    case 'boolean':
      return true
    case 'object':
      return value === null || isContainer(walk, value)
    default:
      return refuse(walk, 'json-type', `${typeof value} has no JSON form`)
  }
}

function isText(walk: Walk, text: string): boolean {
  walk.chars += text.length
  if (walk.chars > walk.limits.maxBytes) return tooLarge(walk)
  return text.isWellFormed() || refuse(walk, 'json-surrogate', 'half of a surrogate pair is not a character')
}

function isKeptNumber(walk: Walk, value: number): boolean {
  if (!Number.isFinite(value)) return refuse(walk, 'json-number', 'the number is not finite')
  return !Object.is(value, -0) || refuse(walk, 'json-number', 'JSON tools do not preserve negative zero; send 0')
}

function isContainer(walk: Walk, value: object): boolean {
  if (walk.depth === walk.limits.maxDepth)
    return refuse(walk, 'json-depth', `nested deeper than ${walk.limits.maxDepth}`)
  walk.depth++
  const fine = Array.isArray(value) ? isList(walk, value) : isPlainObject(walk, value)
  walk.depth--
  return fine
}

function isList(walk: Walk, list: readonly unknown[]): boolean {
  if (Object.getPrototypeOf(list) !== Array.prototype) return refuse(walk, 'json-type', 'an instance of a class')
  if (list.length > walk.limits.maxBytes) return tooLarge(walk)
  // The own keys are the elements and `length`; a hole, a named member or a symbol changes their number.
  if (Reflect.ownKeys(list).length !== list.length + 1)
    return refuse(walk, 'json-type', 'a list with holes or named members')
  for (let index = 0; index < list.length; index++) {
    if (!isMember(walk, list, String(index))) return within(walk, index)
  }
  return true
}

function isPlainObject(walk: Walk, value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return refuse(walk, 'json-type', 'an instance of a class')

  for (const key of Reflect.ownKeys(value)) {
    if (typeof key === 'symbol') return refuse(walk, 'json-type', 'a symbol as a key')
    if (key === '__proto__') {
      refuse(walk, 'json-key', 'the key "__proto__" is not allowed')
      return within(walk, key)
    }
    if (++walk.keyCount > walk.limits.maxKeys)
      return refuse(walk, 'json-too-large', `more than ${walk.limits.maxKeys} keys`)
    if (!isText(walk, key) || !isMember(walk, value, key)) return within(walk, key)
  }
  return true
}

/** Reads the property descriptor: a getter could return another value when the value is signed. */
function isMember(walk: Walk, holder: object, key: string): boolean {
  const member = Object.getOwnPropertyDescriptor(holder, key)
  if (member === undefined || !('value' in member)) return refuse(walk, 'json-type', 'a member that is computed')
  if (member.enumerable !== true) return refuse(walk, 'json-type', 'a hidden member')
  return isJson(walk, member.value)
}

function tooLarge(walk: Walk): boolean {
  return refuse(walk, 'json-too-large', `more than ${walk.limits.maxBytes} bytes`)
}

function within(walk: Walk, token: string | number): boolean {
  walk.path.push(token)
  return false
}

function refuse(walk: Walk, code: JsonErrorCode, message: string): boolean {
  walk.refusal ??= { code, message }
  return false
}
