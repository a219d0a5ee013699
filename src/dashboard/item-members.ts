/** @module Typed access to the members of an answer's row. */
import type { JsonObject } from '../../schemas/json.ts'

export function textIn(item: JsonObject, name: string): string | undefined {
  const value = item[name]
  return typeof value === 'string' ? value : undefined
}

export function numberIn(item: JsonObject, name: string): number | undefined {
  const value = item[name]
  return typeof value === 'number' ? value : undefined
}
