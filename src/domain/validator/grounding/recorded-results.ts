/**
 * @module Tool results of a run: rows, whole values, and failed calls. Results are queued unread until a handoff needs them, so that
 * recording one costs nothing.
 */
import { keyWords } from '../../../../projections/key-words.ts'
import { isReference } from '../../../../projections/list-identity.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import type { Pauses, Yielding } from '../../yielding.ts'
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
import { contentOf, parsedTexts, saysFailed } from './failed-answers.ts'
import type { LeftWords } from './left-words.ts'
import { RowIndex, type RowIndexDump } from './row-index.ts'

/** Maximum memory of queued results, in bytes; beyond it they are indexed even if no handoff needs them. */
const WAITING_MAX_BYTES = 512 * 1024
/** Approximate memory of the left words of one place, in bytes. */
const LEFT_BYTES = 512
/** Maximum memory of a pending question, in bytes, approximately. */
const QUESTION_BYTES = 1_024
/** Steps per value to be recognised later, and per character of a text. */
const KNOW_STEPS = 5
const TEXT_STEPS = 0.1
const FAILED_MAX = 10_000

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
  /** Questions of calls that have no answer yet, by call id. */
  readonly asked: Map<string, ToolQuestion>
  readonly failed: Map<string, FailedCall>
  /** Tools with at least one successful call. */
  readonly succeeded: Set<string>
  /** The event that established each value of the context. */
  since: Since
  /** State words that the run has left on the way to its current context. */
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
  /** Absent if the tool is unknown. */
  readonly asked?: ToolQuestion | undefined
  /** Memory of the result while it is queued, in bytes. */
  readonly bytes: number
}

export function addResult(results: RecordedResults, { bytes, ...result }: Result): void {
  results.waiting.push(result)
  results.waitingBytes += bytes
}

/** Returns the question of a call whose answer has arrived, and removes it. */
export function takeQuestion({ asked }: RecordedResults, callId: string): ToolQuestion | undefined {
  const found = asked.get(callId)
  asked.delete(callId)
  return found
}

/** Whether the queued results take so much memory that they must be indexed now. */
export function isOverdue({ waitingBytes }: RecordedResults): boolean {
  return waitingBytes > WAITING_MAX_BYTES
}

export function noteOutcome(results: RecordedResults, callId: string, call: FailedCall, failed: boolean): void {
  if (!failed) {
    results.failed.delete(callId)
    results.succeeded.add(call.tool)
  } else if (results.failed.size < FAILED_MAX) results.failed.set(callId, call)
}

/** Indexes the queued results, oldest first. It must not be started again before it has finished. */
export function* indexResults(results: RecordedResults, knowing: Knowing): Yielding<RowIndex | undefined> {
  for (let next = results.waiting[0]; next !== undefined; next = results.waiting[0]) {
    results.index ??= new RowIndex(results.seed)
    const { asked, value, revision } = next
    const values = [value, ...parsedTexts(value)]
    // What a failed call answered is known as a text, but says nothing of any thing, and the answer before it stays the latest one.
    const failed = saysFailed(value, asked)
    for (const each of values) {
      if (!failed) yield* results.index.add({ ...next, value: each }, knowing.pauses)
      yield* knowAll(results.index, each, knowing)
    }
    const bare = failed ? undefined : bareAnswer(asked, value)
    if (bare !== undefined) yield* results.index.add({ ...next, value: bare.row, bare }, knowing.pauses)
    const bytes = Math.ceil(results.waitingBytes / results.waiting.length)
    if (asked !== undefined && !failed) {
      yield* addAnswer(results.answers, { asked, values, revision, bytes }, knowing.pauses)
    }
    results.waitingBytes -= bytes
    results.waiting.shift()
  }
  return results.index
}

interface Knowing {
  /** Receives texts in which names may be searched later. */
  readonly addText: (text: string) => void
  readonly pauses: Pauses
}

/** Records texts, numbers and keys as known, in document order. */
function* knowAll(index: RowIndex, whole: Json, { addText, pauses }: Knowing): Yielding<void> {
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

/** First and last name in two members, joined, because an agent may hand them over as one name. */
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

// Answers without a name of their own, such as `"Basel"` or `{ok: true}`: the arguments of the call say what they are about (JUD-94).

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

interface BareAnswer {
  readonly row: JsonObject
  /** The values are the agent's own arguments, which a confirmation repeats: they excuse nothing. */
  readonly isMention: boolean
}

/**
 * The row that a bare answer amounts to: `get_city {"order_id": "A-1"}`, answered `"Basel"`, is `{"order_id": "A-1", "city": "Basel"}`. A
 * confirmation is the row of the arguments, as a mention. Undefined for other answers, and if no argument is a reference.
 */
function bareAnswer(asked: ToolQuestion | undefined, value: Json): BareAnswer | undefined {
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

function isConfirmation(value: Json): boolean {
  if (!isJsonObject(value)) return saysDone(value)
  const members = Object.values(value)
  return members.length > 0 && members.every((member) => saysDone(member as Json))
}

function saysDone(value: Json): boolean {
  return value === true || (typeof value === 'string' && DONE.has(value.trim().toLowerCase().replace(/[.!]$/, '')))
}
