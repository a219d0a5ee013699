/** @module Whether an answer says that its call failed, or that it only tried what it was asked for; and the JSON that the texts of an answer contain. */
import { keyWords } from '../../../../projections/key-words.ts'
import { isJsonObject, type Json, type JsonObject, parseJsonOrUndefined } from '../../../../schemas/json.ts'

/** Maximum length of a text that is also parsed as JSON, in characters. */
const PARSED_MAX_CHARS = 256 * 1024
const JSON_BEGINS = /^\s*[[{]/
const ERROR_TEXT = /^\s*(?:error|failed|failure|exception)\b/i
/** Responses of HTTP from this one on say that a request failed. */
const HTTP_FAILED = 400
const HTTP_MAX = 599

/** Keys in lower case, without `_` and `-`. */
const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))
/** `false` under one of these says that the call failed. */
const SUCCESS = words('ok okay success succeeded successful issuccess')
/** `true` under one of these says that nothing was done. */
const NOT_DONE = words('iserror failed dryrun simulated simulation')
const ERRORS = words('error errors')
const HTTP_STATUS = words('statuscode httpstatus httpstatuscode')

// A thing may have a state of its own that failed. Of a call that only reads, these say nothing about the call.
const OUTCOMES = words('status state outcome result')
const FAILED_WORDS = words('failed failure error errored rejected denied forbidden unauthorized')
const ACKNOWLEDGED = words('accepted applied saved updated')
const READING = words(
  'get list read fetch show find search check query lookup look describe view poll watch load retrieve inspect count track',
)
/** The last word of the name of a tool that reads a state: `job_status`. */
const STATES = words('status state')

interface Asked {
  readonly tool: string
  /** The arguments ask only to try the call. */
  readonly isTrial?: true
}

/** `asked` is absent if the tool is unknown; it is then taken for one that reads. */
export function saysFailed(value: Json | undefined, asked: Asked | undefined): boolean {
  if (value === undefined) return false
  const changes = asked !== undefined && !isReading(asked.tool)
  return (
    asked?.isTrial === true || [value, contentOf(value), ...parsedTexts(value)].some((each) => isFailure(each, changes))
  )
}

function isReading(tool: string): boolean {
  const named = keyWords(tool)
  return named.some((word) => READING.has(word)) || STATES.has(named.at(-1) ?? '')
}

function isFailure(value: Json, changes: boolean): boolean {
  if (typeof value === 'string') return ERROR_TEXT.test(value)
  return (
    isJsonObject(value) && Object.keys(value).some((key) => saysFailure(plainKey(key), value[key] as Json, changes))
  )
}

function saysFailure(key: string, value: Json, changes: boolean): boolean {
  if (value === false) return SUCCESS.has(key) || (changes && ACKNOWLEDGED.has(key))
  if (value === true) return NOT_DONE.has(key) || ERRORS.has(key)
  if (typeof value === 'number' && (HTTP_STATUS.has(key) || (changes && key === 'status')))
    return value >= HTTP_FAILED && value <= HTTP_MAX
  if (ERRORS.has(key)) return key === 'error' ? value !== null && value !== '' && value !== 0 : isFilled(value)
  return changes && OUTCOMES.has(key) && typeof value === 'string' && FAILED_WORDS.has(value.trim().toLowerCase())
}

function isFilled(value: Json): boolean {
  return (
    (typeof value === 'object' && value !== null && Object.keys(value).length > 0) ||
    (typeof value === 'string' && value !== '')
  )
}

/** Whether the arguments ask only to try the call: `dry_run: true`. */
export function asksForTrial(args: JsonObject): boolean {
  return Object.keys(args).some((key) => args[key] === true && NOT_DONE.has(plainKey(key)))
}

function plainKey(key: string): string {
  return key.toLowerCase().replace(/[_-]/g, '')
}

/** JSON contained in texts: in a result that is a text, and in the texts of an MCP result. */
export function parsedTexts(value: Json): readonly Json[] {
  const content = isJsonObject(value) && Array.isArray(value.content) ? (value.content as readonly Json[]) : [value]
  return content.flatMap((part) => {
    const text = isJsonObject(part) && part.type === 'text' ? part.text : part
    if (typeof text !== 'string' || text.length > PARSED_MAX_CHARS || !JSON_BEGINS.test(text)) return []
    const parsed = parseJsonOrUndefined(text)
    return parsed === undefined ? [] : [parsed]
  })
}

/** The text of an MCP result that holds nothing else. */
export function contentOf(value: Json): Json {
  if (!isJsonObject(value) || !Array.isArray(value.content) || value.content.length !== 1) return value
  const [part] = value.content as readonly Json[]
  return part !== undefined && isJsonObject(part) && typeof part.text === 'string' ? part.text : value
}
