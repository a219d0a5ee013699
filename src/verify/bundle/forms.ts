/** @module What a member of a file may be. */
import type { JsonObject } from '../../../schemas/json.ts'

/** Whether a member is what it may be; `optional`: it may be absent. */
export interface Is {
  (value: unknown): boolean
  readonly optional?: boolean
}

/** What each member of an object may be. */
export type Form = { [name: string]: Is }

export const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= 1024
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
export const isDigest = (value: unknown): value is string =>
  typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value)
export const isTime = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)
export const isList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.every(isText)
export const isOf =
  (form: Form) =>
  (value: unknown): value is JsonObject =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.keys(value).every((name) => Object.hasOwn(form, name)) &&
    Object.entries(form).every(([name, is]) =>
      name in (value as object) ? is((value as JsonObject)[name]) : is.optional === true,
    )
export const maybe = (is: Is): Is => Object.assign((value: unknown) => is(value), { optional: true })
