/** @module Query parameters: those of the schema, each once, and no other. */
import { z } from 'zod'
import { jsonPointer } from '../signing/json-error.ts'
import { type SchemaError, schemaErrors } from '../signing/schema-errors.ts'
import type { Parsed } from './preconditions.ts'
import { problem } from './problems.ts'

export const PAGE_DEFAULT = 100
const PAGE_MAX = 500
const TEXT_MAX_CHARS = 256

/** A whole number as a query says it. */
export const Whole = z
  .string()
  .regex(/^\d{1,15}$/, 'takes a whole number')
  .transform(Number)

/** Items of one page; more than `PAGE_MAX` are never returned. */
export const Limit = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, `takes a whole number from 1 to ${PAGE_MAX}`)
  .transform((text) => Math.min(Number(text), PAGE_MAX))

export const Text = z.string().min(1).max(TEXT_MAX_CHARS)
export const CursorText = z.string().regex(/^[A-Za-z0-9_-]{1,2048}$/, 'takes a cursor exactly as it was returned')

/** An object with no member that a query could name. */
export const NoQuery = z.strictObject({})

export function parseQuery<T extends z.ZodObject>(schema: T, search: string): Parsed<z.output<T>> {
  const params: Record<string, string> = Object.create(null)
  const faults: SchemaError[] = []
  for (const [name, value] of new URLSearchParams(search)) {
    if (!Object.hasOwn(schema.shape, name)) faults.push(faultOf(name, 'there is no such parameter'))
    else if (Object.hasOwn(params, name)) faults.push(faultOf(name, 'give it once'))
    else params[name] = value
  }
  if (faults.length > 0) return refused(faults)
  const checked = schema.safeParse({ ...params })
  return checked.success ? { ok: true, value: checked.data } : refused(schemaErrors(checked.error))
}

function faultOf(name: string, message: string): SchemaError {
  return { pointer: jsonPointer([name]), message }
}

function refused(errors: readonly SchemaError[]): Parsed<never> {
  return {
    ok: false,
    problem: problem('invalid-query', 'a query parameter cannot be used', {
      evidence: { errors: errors.slice(0, 20) },
    }),
  }
}
