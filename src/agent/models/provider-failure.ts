/** @module Restores errors of providers' packages from the record, by the error classes of the client or by the marker symbols of AI SDK errors. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { Failure } from '../../../schemas/values.ts'
import { caughtError, type ErrorClass, failureWithFields } from '../calls/caught-error.ts'
import { recordable } from '../calls/recordable.ts'
import { RecordedFailure } from '../errors.ts'
import { memberOf } from '../thrown.ts'

/** The error classes that the OpenAI and Anthropic packages attach to the class of their client, or to one of its base classes. */
export function errorsOf(client: object): readonly ErrorClass[] {
  const named = new Map<string, ErrorClass>()
  for (let at: unknown = client.constructor; typeof at === 'function'; at = Object.getPrototypeOf(at)) {
    for (const each of Object.values(at) as unknown[]) {
      const isError = typeof each === 'function' && each.prototype instanceof Error
      if (isError && !named.has(each.name)) named.set(each.name, each as unknown as ErrorClass)
    }
  }
  return [...named.values()]
}

const MARK_BEGINS = 'vercel.ai.'
/** Recorded fields of AI SDK errors; fields that may repeat the request are excluded. */
const MARKED_FIELDS = ['statusCode', 'isRetryable', 'url', 'responseBody', 'data'] as const
/** Fields that reveal nothing of the conversation. */
const HARMLESS_FIELDS: ReadonlySet<string> = new Set(['status', 'code', 'type', 'statusCode', 'isRetryable'])

/** The recorded form of an error in addition to its name and message. `whole`: text from the provider may be recorded. */
export function formOf(error: unknown, classes: readonly ErrorClass[], whole: boolean): JsonObject {
  const marks = marksOf(error)
  const { details } = failureWithFields(error, { classes }) as { readonly details?: JsonObject }
  const fields = marks.length > 0 ? markedFields(error as object) : (details?.fields as JsonObject | undefined)
  if (fields === undefined) return {}
  const told = Object.entries(fields).filter(([name]) => whole || HARMLESS_FIELDS.has(name))
  const form = marks.length > 0 ? { marks: [...marks] } : { class: details?.class ?? '' }
  return { ...form, fields: Object.fromEntries(told) }
}

/** Builds the error that the caller catches. */
export function caughtFromProvider(failure: Failure, classes: readonly ErrorClass[], options?: ErrorOptions): Error {
  const { marks, fields } = (failure.details ?? {}) as {
    readonly marks?: readonly string[]
    readonly fields?: JsonObject
  }
  if (marks === undefined) return caughtError(failure, { classes }, options)
  const marked = marks.map((mark) => [Symbol.for(mark), true])
  return Object.assign(new RecordedFailure(failure, options), fields, Object.fromEntries(marked))
}

function marksOf(error: unknown): readonly string[] {
  if (typeof error !== 'object' || error === null) return []
  return Object.getOwnPropertySymbols(error).flatMap((symbol) => {
    const key = Symbol.keyFor(symbol)
    return key?.startsWith(MARK_BEGINS) === true && memberOf(error, symbol) === true ? key : []
  })
}

function markedFields(error: object): JsonObject {
  const fields: Record<string, Json> = {}
  for (const name of MARKED_FIELDS) {
    const value = memberOf(error, name)
    const recorded = value === undefined ? undefined : recordable(value, undefined, { maxBytes: FIELD_MAX_BYTES })
    if (recorded?.ok === true) fields[name] = recorded.value
  }
  return fields
}

const FIELD_MAX_BYTES = 16 * 1024
