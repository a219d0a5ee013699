/** @module Prints one object: as a list of its members on a terminal, otherwise as JSON. */
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import { cellText, jsonLine } from './shown.ts'
import { type Output, stdout } from './table.ts'

const NAME_COLUMN = 24
const INDENT = '  '

export function printObject(object: JsonObject, json: boolean, output: Output = stdout): void {
  if (json || output.isTTY !== true) output.write(jsonLine(object))
  else output.write(memberLines(object).join('\n').concat('\n'))
}

/** Nested objects are indented; in a list, each object is printed separately. */
export function memberLines(object: JsonObject, indent = ''): readonly string[] {
  return Object.entries(object).flatMap(([name, value]) => {
    const label = `${indent}${cellText(name)}`
    const parts = partsOf(value)
    if (parts === undefined) return [`${label.padEnd(NAME_COLUMN)}  ${cellText(value)}`]
    return [label, ...parts.flatMap((part) => memberLines(part, indent + INDENT))]
  })
}

function partsOf(value: Json): readonly JsonObject[] | undefined {
  if (isJsonObject(value)) return Object.keys(value).length === 0 ? undefined : [value]
  if (!Array.isArray(value) || value.length === 0) return undefined
  const objects = value.filter((item) => isJsonObject(item)) as JsonObject[]
  return objects.length === value.length ? objects : undefined
}
