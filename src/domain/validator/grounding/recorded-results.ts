/**
 * @module What the tools of a run answered: rows, whole values, and which calls failed. Results wait as they came until a handoff asks about them:
 * recording one costs nothing.
 */
import { keyWords } from '../../../../projections/key-words.ts'
import { isJsonObject, type Json, type JsonObject, parseJsonOrUndefined } from '../../../../schemas/json.ts'
import type { Paced, Pauses } from '../../paced.ts'
import {
  type Answers,
  type AnswersDump,
  addAnswer,
  answersBytes,
  dumpAnswers,
  loadAnswers,
  noAnswers,
  type ToolQuestion,
} from './answers.ts'
import { SINCE_START, type Since } from './established-since.ts'
import type { LeftWords } from './left-words.ts'
import { RowIndex, type RowIndexDump } from './row-index.ts'

/** Waiting results take at most so much memory before they are indexed, whoever asks for them or not. */
const WAITING_MAX_BYTES = 512 * 1024
/** Of the words that were left at a place, about. */
const LEFT_BYTES = 512
/** Of what a call asked, at most about. */
const QUESTION_BYTES = 1_024
/** Of a value, and of a character of a text, that is to be known again. */
const KNOW_STEPS = 5
const TEXT_STEPS = 0.1
/** A longer text is read as a text alone. */
const PARSED_MAX_CHARS = 256 * 1024
const JSON_BEGINS = /^\s*[[{]/
const FAILED_MAX = 10_000
const ERROR_TEXT = /^\s*(?:error|failed|failure|exception)\b/i

export interface FailedCall {
  readonly tool: string
  readonly revision: number
}

export interface RecordedResults {
  readonly seed: number
  readonly waiting: Omit<Result, 'bytes'>[]
  waitingBytes: number
  index: RowIndex | undefined
  readonly answers: Answers
  /** What calls asked whose answers are still to come. */
  readonly asked: Map<string, ToolQuestion>
  readonly failed: Map<string, FailedCall>
  /** Tools of which a call has succeeded. */
  readonly succeeded: Set<string>
  /** Since which event the values of the context stand. */
  since: Since
  /** State words that were left on the way to it. */
  readonly left: LeftWords
}

export function noResults(seed = 0): RecordedResults {
  return {
    seed,
    waiting: [],
    waitingBytes: 0,
    index: undefined,
    answers: noAnswers(seed),
    asked: new Map(),
    failed: new Map(),
    succeeded: new Set(),
    since: SINCE_START,
    left: new Map(),
  }
}

export interface Result {
  readonly value: Json
  readonly revision: number
  /** Absent where nobody knows which tool it was. */
  readonly asked?: ToolQuestion | undefined
  /** Memory that it takes while it waits. */
  readonly bytes: number
}

export function addResult(results: RecordedResults, { bytes, ...result }: Result): void {
  results.waiting.push(result)
  results.waitingBytes += bytes
}

/** What the call asked; its answer has come. */
export function takeQuestion({ asked }: RecordedResults, callId: string): ToolQuestion | undefined {
  const found = asked.get(callId)
  asked.delete(callId)
  return found
}

/** Whether those that wait take enough memory to be indexed now. */
export function isOverdue({ waitingBytes }: RecordedResults): boolean {
  return waitingBytes > WAITING_MAX_BYTES
}

export function noteOutcome(results: RecordedResults, callId: string, call: FailedCall, failed: boolean): void {
  if (!failed) {
    results.failed.delete(callId)
    results.succeeded.add(call.tool)
  } else if (results.failed.size < FAILED_MAX) results.failed.set(callId, call)
}

/** Many tools answer an error as a result. */
export function saysError(value: Json | undefined): boolean {
  if (typeof value === 'string') return ERROR_TEXT.test(value)
  if (value === undefined || !isJsonObject(value)) return false
  if (value.isError === true) return true
  const error = Object.hasOwn(value, 'error') ? value.error : undefined
  return error !== undefined && error !== null && error !== false && error !== ''
}

/** Those that wait, the oldest first. Not to be begun again before it has ended. */
export function* indexResults(results: RecordedResults, knowing: Knowing): Paced<RowIndex | undefined> {
  for (let next = results.waiting[0]; next !== undefined; next = results.waiting[0]) {
    results.index ??= new RowIndex(results.seed)
    const values = [next.value, ...parsedTexts(next.value)]
    for (const value of values) {
      yield* results.index.add({ ...next, value }, knowing.pauses)
      yield* knowAll(results.index, value, knowing)
    }
    const { asked, value, revision } = next
    const bytes = Math.ceil(results.waitingBytes / results.waiting.length)
    // What failed is no answer: the one before it still stands.
    if (asked !== undefined && !saysError(value)) {
      yield* addAnswer(results.answers, { asked, values, revision, bytes }, knowing.pauses)
    }
    results.waitingBytes -= bytes
    results.waiting.shift()
  }
  return results.index
}

/** What a text holds as JSON: a result that is a text, and the texts of a result of MCP. */
function parsedTexts(value: Json): readonly Json[] {
  const content = isJsonObject(value) && Array.isArray(value.content) ? (value.content as readonly Json[]) : [value]
  return content.flatMap((part) => {
    const text = isJsonObject(part) && part.type === 'text' ? part.text : part
    if (typeof text !== 'string' || text.length > PARSED_MAX_CHARS || !JSON_BEGINS.test(text)) return []
    const parsed = parseJsonOrUndefined(text)
    return parsed === undefined ? [] : [parsed]
  })
}

interface Knowing {
  /** Takes what may be searched for inside. */
  readonly addText: (text: string) => void
  readonly pauses: Pauses
}

/** Texts, numbers and keys, in the order in which they stand. */
function* knowAll(index: RowIndex, whole: Json, { addText, pauses }: Knowing): Paced<void> {
  const waiting: Json[] = [whole]
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    pauses.count(KNOW_STEPS)
    if (typeof value === 'string') knowText(index, value, { addText, pauses })
    else if (typeof value === 'number') index.know(value)
    else if (Array.isArray(value)) for (let i = value.length - 1; i >= 0; i--) waiting.push(value[i] as Json)
    else if (isJsonObject(value)) {
      for (const joined of joinedNames(value)) index.know(joined)
      const keys = Object.keys(value)
      for (const key of keys) index.know(key)
      for (let i = keys.length - 1; i >= 0; i--) waiting.push(value[keys[i] as string] as Json)
      pauses.count(KNOW_STEPS * keys.length)
    }
    if (pauses.due()) yield
  }
}

function knowText(index: RowIndex, text: string, { addText, pauses }: Knowing): void {
  pauses.count(text.length * TEXT_STEPS)
  index.know(text)
  addText(text)
}

/** A name that stands in two members may be handed on as one. */
function joinedNames(object: JsonObject): readonly string[] {
  let [first, last]: (string | undefined)[] = []
  for (const key of Object.keys(object)) {
    const value = object[key]
    if (typeof value !== 'string') continue
    const [word, name, more] = keyWords(key)
    if (more !== undefined || (name !== 'name' && name !== undefined)) continue
    if ((word === 'first' || word === 'given') && name !== undefined) first = value
    if (((word === 'last' || word === 'family') && name !== undefined) || word === 'surname') last = value
  }
  return first === undefined || last === undefined ? [] : [`${first} ${last}`, `${last}, ${first}`, `${last} ${first}`]
}

export function resultsBytes({ waitingBytes, index, failed, left, answers, asked }: RecordedResults): number {
  const rows = waitingBytes + (index?.bytes ?? 0)
  return rows + 256 * failed.size + LEFT_BYTES * left.size + answersBytes(answers) + QUESTION_BYTES * asked.size
}

/** Plain JSON for a cached fold. */
export interface ResultsDump {
  readonly seed: number
  readonly waiting: RecordedResults['waiting']
  readonly waitingBytes: number
  readonly index?: RowIndexDump
  readonly answers: AnswersDump
  readonly asked: readonly (readonly [string, ToolQuestion])[]
  readonly failed: readonly (readonly [string, FailedCall])[]
  readonly succeeded: readonly string[]
  readonly since: Since
  readonly left: readonly (readonly [string, readonly { readonly word: string; readonly at: number }[]])[]
}

export function dumpResults(results: RecordedResults): ResultsDump {
  const { seed, waiting, waitingBytes, index, answers, asked, failed, succeeded, since, left } = results
  return {
    seed,
    waiting,
    waitingBytes,
    ...(index === undefined ? {} : { index: index.dump() }),
    answers: dumpAnswers(answers),
    asked: [...asked],
    failed: [...failed],
    succeeded: [...succeeded],
    since,
    left: [...left],
  }
}

export function loadResults(dump: ResultsDump): RecordedResults {
  return {
    seed: dump.seed,
    waiting: [...dump.waiting],
    waitingBytes: dump.waitingBytes,
    index: dump.index === undefined ? undefined : RowIndex.load(dump.index),
    answers: loadAnswers(dump.seed, dump.answers),
    asked: new Map(dump.asked),
    failed: new Map(dump.failed),
    succeeded: new Set(dump.succeeded),
    since: dump.since,
    left: new Map(dump.left),
  }
}
