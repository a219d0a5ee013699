/** @module Answers without a name of their own, such as `"Basel"` or `{ok: true}`: the arguments of the call say what they are about (JUD-94). */
import { keyWords } from '../../../../projections/key-words.ts'
import { isReference } from '../../../../projections/list-identity.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import type { ToolQuestion } from './answers.ts'

/** Texts by which a tool confirms that it did what it was asked to do. */
const DONE: ReadonlySet<string> = new Set([
  'ok',
  'okay',
  'success',
  'succeeded',
  'done',
  'updated',
  'accepted',
  'saved',
])
const ANSWER_MAX_CHARS = 128
/** Maximum number of words at the end of a tool's name that may be the name of a field. */
const FIELD_WORDS_MAX = 3

export interface BareAnswer {
  readonly row: JsonObject
  /** The values are the agent's own arguments, which a confirmation repeats: they excuse nothing. */
  readonly isMention: boolean
}

/**
 * The row that a bare answer amounts to: `get_city {"order_id": "A-1"}`, answered `"Basel"`, is `{"order_id": "A-1", "city": "Basel"}`. A
 * confirmation is the row of the arguments, as a mention. Undefined for other answers, and if no argument is a reference.
 */
export function bareAnswer(asked: ToolQuestion | undefined, value: Json): BareAnswer | undefined {
  if (asked?.row === undefined) return undefined
  const answer = contentOf(value)
  if (isConfirmation(answer)) return { row: asked.row, isMention: true }
  if (answer === null || typeof answer === 'object' || `${answer}`.length > ANSWER_MAX_CHARS) return undefined
  const references = Object.entries(asked.row).filter(([key]) => isReference(key))
  const fields = fieldsOf(asked.tool).map((field): [string, Json] => [field, answer])
  return fields.length === 0 ? undefined : { row: Object.fromEntries([...fields, ...references]), isMention: false }
}

/** The names that the tool's name may give to its answer: `order_status` and `status` for `get_order_status`. */
function fieldsOf(tool: string): readonly string[] {
  const words = keyWords(tool).slice(1).slice(-FIELD_WORDS_MAX)
  return words.map((_, i) => words.slice(i).join('_'))
}

/** The text of an MCP result that holds nothing else. */
function contentOf(value: Json): Json {
  if (!isJsonObject(value) || !Array.isArray(value.content) || value.content.length !== 1) return value
  const [part] = value.content as readonly Json[]
  return part !== undefined && isJsonObject(part) && typeof part.text === 'string' ? part.text : value
}

function isConfirmation(value: Json): boolean {
  if (!isJsonObject(value)) return saysDone(value)
  const members = Object.values(value)
  return members.length > 0 && members.every((member) => saysDone(member as Json))
}

function saysDone(value: Json): boolean {
  return value === true || (typeof value === 'string' && DONE.has(value.trim().toLowerCase().replace(/[.!]$/, '')))
}
