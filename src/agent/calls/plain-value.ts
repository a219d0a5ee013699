/** @module Detects values that JSON would alter silently: two different values must not have the same record, since the recorded arguments identify a call. */

import { pointerStep } from '../../../schemas/json-pointer.ts'

/** A faulty part of a value: its JSON pointer (empty for the value itself) and the reason. */
export interface ValueFault {
  readonly path: string
  readonly reason: string
}

/** Deeper values are refused for their depth when they are serialized. */
const DEPTH_MAX = 200

/**
 * The first part of a value whose JSON form is ambiguous: `undefined`, non-finite numbers, functions, symbols, and every object that is not plain data, such as
 * Date, Map, URLSearchParams, Error, a stream or a class instance. A bare `undefined` means that there is no argument; it is recorded as null. Cycles end at
 * the maximum depth and are refused when they are serialized.
 */
export function plainFault(value: unknown): ValueFault | undefined {
  return value === undefined ? undefined : faultAt(value, '', 0)
}

/** The first object in a value whose content would be lost in its JSON form. Members that `JSON.stringify` omits or converts are allowed. */
export function vanishingFault(value: unknown): ValueFault | undefined {
  return vanishingAt(value, '', 0)
}

function faultAt(value: unknown, path: string, depth: number): ValueFault | undefined {
  const reason = reasonOf(value)
  if (reason !== undefined) return { path, reason }
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return undefined
  if (Array.isArray(value)) {
    // By index, because a hole counts as undefined.
    for (let i = 0; i < value.length; i += 1) {
      const fault = faultAt(value[i], `${path}/${i}`, depth + 1)
      if (fault !== undefined) return fault
    }
    return undefined
  }
  for (const key of Object.keys(value)) {
    const fault = faultAt((value as Record<string, unknown>)[key], path + pointerStep(key), depth + 1)
    if (fault !== undefined) return fault
  }
  return undefined
}

function reasonOf(value: unknown): string | undefined {
  switch (typeof value) {
    case 'undefined':
      return 'undefined, which JSON leaves out or makes null: leave the member out, or pass null'
    case 'number':
      return Number.isFinite(value) ? undefined : `${value}, which JSON makes null`
    case 'function':
      return 'a function, which JSON leaves out'
    case 'symbol':
      return 'a symbol, which JSON leaves out'
    case 'object':
      return value === null ? undefined : objectReason(value)
    default:
      return undefined
  }
}

function objectReason(value: object): string | undefined {
  if (Object.getOwnPropertySymbols(value).some((key) => Object.prototype.propertyIsEnumerable.call(value, key))) {
    return 'an object with a symbol as a key, which JSON leaves out'
  }
  if (Array.isArray(value) || isPlainObject(value)) return undefined
  return `${describe(value)}, which JSON does not keep as what it is: pass plain data, or name a codec for it in open({ codecs })`
}

function vanishingAt(value: unknown, path: string, depth: number): ValueFault | undefined {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return undefined
  if (vanishes(value)) {
    const reason = `${describe(value)}, of which JSON would keep nothing: give plain data, or name a codec for it in open({ codecs })`
    return { path, reason }
  }
  if (hasToJson(value)) return undefined
  for (const key of Object.keys(value)) {
    const fault = vanishingAt((value as Record<string, unknown>)[key], path + pointerStep(key), depth + 1)
    if (fault !== undefined) return fault
  }
  return undefined
}

/**
 * Whether the JSON form would lose the content: Map, Set, URLSearchParams, Headers, Response, Promise and the like have no own members; for an error or a
 * stream, the members are only a part.
 */
export function vanishes(value: object): boolean {
  if (Array.isArray(value) || isPlainObject(value) || hasToJson(value)) return false
  if (value instanceof Error || value instanceof Promise) return true
  if (typeof (value as { pipe?: unknown }).pipe === 'function' || Symbol.asyncIterator in value) return true
  return Object.keys(value).length === 0 && !isBoxed(value) && !ArrayBuffer.isView(value)
}

/** Recognizes plain objects of this realm and of others, such as a test runner's. */
export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return true
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'isPrototypeOf')
}

export function hasToJson(value: object): boolean {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function'
}

/** `new String('a')` is serialized as `"a"`. */
function isBoxed(value: object): boolean {
  return value instanceof String || value instanceof Number || value instanceof Boolean
}

function describe(value: object): string {
  const maker: unknown = (value as { constructor?: unknown }).constructor
  const name = typeof maker === 'function' ? maker.name : ''
  if (name === '') return 'an object of a class without a name'
  return `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`
}
