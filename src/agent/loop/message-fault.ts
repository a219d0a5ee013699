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
  return toolCallsFault(toolCalls) ?? usageFault(usage) ?? silenceFault(value)
}

const SHAPE =
  "expected { role: 'assistant', content: 'a text' }, or { role: 'assistant', toolCalls: [{ id, name, arguments }] }"
const MEMBERS: ReadonlySet<string> = new Set(['role', 'content', 'toolCalls', 'usage', 'parts'])

/** A message of another shape would be taken for one that says nothing, or its calls would be lost. */
function silenceFault(message: Readonly<Record<string, unknown>>): MessageFault | undefined {
  const { content, toolCalls } = message
  const isSilent = (content ?? '') === '' && (toolCalls === undefined || (toolCalls as unknown[]).length === 0)
  const other = Object.keys(message).find((name) => !MEMBERS.has(name) && message[name] !== undefined)
  const isLost = Array.isArray(message.tool_calls) && message.tool_calls.length > 0
  if (isLost || (isSilent && other !== undefined)) return { place: `/${isLost ? 'tool_calls' : other}`, message: SHAPE }
  return isSilent && message.role === undefined && content === undefined && toolCalls === undefined
    ? { place: '/', message: SHAPE }
    : undefined
}

/** The first part of a turn in parts that is none. */
export function partFault(parts: readonly unknown[]): MessageFault | undefined {
  const at = parts.findIndex((part) => !isObject(part) || !PARTS.some((name) => name in part))
  const message = "expected { text: 'a text' }, { toolCall: { id, name, arguments } } or { usage }"
  return at === -1 ? undefined : { place: `/${at}`, message }
}

const PARTS = ['text', 'toolCall', 'usage']

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
