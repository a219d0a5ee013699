/** @module The error that the caller of a failed call catches, built from the recorded failure, live as well as on resume and replay (RUN-141). */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { INLINE_CEILING_BYTES } from '../../../schemas/value-forms.ts'
import type { Failure } from '../../../schemas/values.ts'
import { AgentError, failureOf, RecordedFailure } from '../errors.ts'
import { TIMED_OUT, ToolError, ToolTimedOut } from '../loop/tool-error.ts'
import { membersOf } from '../thrown.ts'
import type { Codecs } from './codecs.ts'
import { isMinified } from './minified-name.ts'
import { recordable } from './recordable.ts'

/** A class of errors, such as a tool's own `NotFound`. */
export type ErrorClass = abstract new (...args: never[]) => Error

/** Classes that are reconstructed from the record, and the codecs of their fields. */
export interface KnownErrors {
  readonly classes: readonly ErrorClass[]
  readonly codecs?: Codecs
}

/** Small enough that the event with the fields fits an append of every store. */
const FIELDS_MAX_BYTES = INLINE_CEILING_BYTES / 4

/** Indexes a tool's error classes by name. Throws `invalid-errors` if two classes have the same name, or a name is missing or minified. */
export function knownErrors(tool: string, classes: readonly ErrorClass[] = []): readonly ErrorClass[] {
  for (const [i, each] of classes.entries()) {
    const isClass = typeof each === 'function' && each.prototype instanceof Error
    const name = isClass ? each.name : ''
    if (name !== '' && !isMinified(name) && classes.findIndex((other) => other.name === name) === i) continue
    const message = `errors of ${tool} are classes of errors, each with a name of its own that a build keeps: ${name || String(each)} is not`
    throw new AgentError('invalid-errors', message, { tool, error: name })
  }
  return classes
}

/** The recorded form of an error. If the error is of a known class, its class and own fields are included. */
export function failureWithFields(error: unknown, known: KnownErrors): Failure {
  const failure = failureOf(error)
  const made = classOf(error, known)
  if (made === undefined) return failure
  return { ...failure, details: { ...detailsOf(failure), class: made.name, fields: fieldsOf(error as Error, known) } }
}

/** The most derived known class of the error. */
function classOf(error: unknown, { classes }: KnownErrors): ErrorClass | undefined {
  const of = classes.filter((each) => error instanceof each)
  return of.find((each) => !of.some((other) => other.prototype instanceof each))
}

/** Own members that can be recorded. Private and computed members are lost. */
function fieldsOf(error: Error, { codecs }: KnownErrors): JsonObject {
  const fields: Record<string, Json> = {}
  let bytes = 0
  for (const [name, value] of membersOf(error)) {
    const recorded = value === undefined || NOT_FIELDS.has(name) ? undefined : recordable(value, codecs)
    if (recorded?.ok !== true) continue
    bytes += Buffer.byteLength(JSON.stringify([name, recorded.value]))
    if (bytes <= FIELDS_MAX_BYTES) fields[name] = recorded.value
  }
  return fields
}

const NOT_FIELDS: ReadonlySet<string> = new Set(['message', 'stack', 'cause'])

/** `cause` is the thrown error in the process that caught it; code must not depend on it. */
export function caughtError(failure: Failure, known: KnownErrors, options?: ErrorOptions): Error {
  const { class: name, fields, name: given } = detailsOf(failure)
  const made = known.classes.find((each) => each.name === name)
  if (made !== undefined) return remade(made, failure, { fields: known.codecs?.decode(fields) ?? fields, options })
  if (given !== 'ToolError') return new RecordedFailure(failure, options)
  if (failure.code === TIMED_OUT) return new ToolTimedOut(failure.message, options)
  const error = new ToolError(failure.message, options)
  return failure.code === undefined ? error : Object.assign(error, { code: failure.code })
}

/** Reconstructs a native error of the class without calling the class's constructor, whose signature is unknown. */
function remade(
  made: ErrorClass,
  { message }: Failure,
  { fields, options }: { readonly fields: unknown; readonly options: ErrorOptions | undefined },
): Error {
  const error = Reflect.construct(Error, [message, options], made) as Error
  for (const [name, value] of Object.entries((fields ?? {}) as object))
    Object.defineProperty(error, name, { value, enumerable: true, writable: true, configurable: true })
  return error
}

function detailsOf({ details }: Failure): JsonObject {
  return isJsonObject(details ?? null) ? (details as JsonObject) : {}
}
