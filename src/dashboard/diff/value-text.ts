/** @module A value as a text that is the same for equal values. */
import { isJsonObject, type Json } from '../../../schemas/json.ts'

/** Contexts that differ only in the order of keys are equal. */
export function valueText(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(valueText).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const members = Object.keys(value).sort()
  return `{${members.map((key) => `${JSON.stringify(key)}:${valueText(value[key] as Json)}`).join(',')}}`
}
