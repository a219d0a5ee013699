/** @module Checks that the return value of a model function is an assistant message. Written by hand because the client package has no schema library. Pure. */
import type { Json } from '../../../schemas/json.ts'
import { recordable } from '../calls/recordable.ts'

/** The return value of a model function, valid once `messageFault` returns undefined. Other members are not recorded. */
export interface ModelMessage {
  readonly content?: string | null
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly arguments: Json }[]
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number }
}

export interface MessageFault {
  /** JSON Pointer to the invalid value. */
  readonly place: string
  readonly message: string
}

/** The first place at which a value is not a valid message; undefined if it is valid. */
export function messageFault(value: unknown): MessageFault | undefined {
  if (!isObject(value)) return { place: '/', message: 'expected an object' }
  const { content, toolCalls, usage } = value
  if (content !== undefined && content !== null && typeof content !== 'string') {
    return { place: '/content', message: 'expected a string or null' }
  }
  return toolCallsFault(toolCalls) ?? usageFault(usage)
}

function toolCallsFault(calls: unknown): MessageFault | undefined {
  if (calls === undefined) return undefined
  if (!Array.isArray(calls)) return { place: '/toolCalls', message: 'expected an array' }
  for (const [at, call] of calls.entries()) {
    const place = `/toolCalls/${at}`
    if (!isObject(call)) return { place, message: 'expected an object' }
    for (const name of ['id', 'name']) {
      if (typeof call[name] !== 'string') return { place: `${place}/${name}`, message: 'expected a string' }
    }
    // `JSON.stringify` silently omits values of these types.
    if (['undefined', 'function', 'symbol'].includes(typeof call.arguments))
      return { place: `${place}/arguments`, message: 'expected a JSON value' }
    const recorded = recordable(call.arguments)
    if (!recorded.ok) return { place: `${place}/arguments`, message: `expected a JSON value: ${recorded.reason}` }
  }
  return undefined
}

function usageFault(usage: unknown): MessageFault | undefined {
  if (usage === undefined) return undefined
  if (!isObject(usage)) return { place: '/usage', message: 'expected an object' }
  for (const name of ['inputTokens', 'outputTokens']) {
    const count = usage[name]
    if (!Number.isSafeInteger(count) || (count as number) < 0) {
      return { place: `/usage/${name}`, message: 'expected a whole number of at least 0' }
    }
  }
  return undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
