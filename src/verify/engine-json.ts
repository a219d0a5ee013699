/**
 * @module JSON as parsed by the projection engine of EventStoreDB (according to the source of the interpreter that 23.10 uses): it rejects a Unicode line
 * separator in a string, and a control character in a name.
 */
import { type Json, parseJson } from '../../schemas/json.ts'

const LINE_SEPARATOR = /[\u2028\u2029]/
/** Control characters that the engine rejects in a name; it accepts a tab. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000a-\u001f]/

/** Throws `SyntaxError` for text that the engine does not accept, as for invalid JSON. */
export function parseAsEngine(text: string): Json {
  if (LINE_SEPARATOR.test(text)) throw new SyntaxError('a line separator of Unicode in a string')
  const value = parseJson(text)
  requireNames(value)
  return value
}

function requireNames(value: Json): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    if (CONTROL.test(name)) throw new SyntaxError('a control character in a name')
    requireNames(member)
  }
}
