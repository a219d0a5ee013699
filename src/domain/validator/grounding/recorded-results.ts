/**
 * @module What the tools of a run answered: rows, whole values, and which calls failed. Results wait as they came until a handoff asks about them:
 * recording one costs nothing.
 */
import { keyWords } from '../../../../projections/key-words.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { SINCE_START, type Since } from './established-since.ts'
import type { LeftWords } from './left-words.ts'
import { RowIndex, type RowIndexDump } from './row-index.ts'

/** Waiting results take at most so much memory before they are indexed: about 20 ms of work at once. */
const WAITING_MAX_BYTES = 512 * 1024
/** Of the words that were left at a place, about. */
const LEFT_BYTES = 512
const FAILED_MAX = 10_000
const ERROR_TEXT = /^\s*(?:error|failed|failure|exception)\b/i

export interface FailedCall {
  readonly tool: string
  readonly revision: number
}

export interface RecordedResults {
  readonly seed: number
  readonly waiting: { readonly value: Json; readonly revision: number }[]
  waitingBytes: number
  index: RowIndex | undefined
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
    failed: new Map(),
    succeeded: new Set(),
    since: SINCE_START,
    left: new Map(),
  }
}

export interface Result {
  readonly value: Json
  readonly revision: number
  /** Memory that it takes while it waits. */
  readonly bytes: number
}

/** `addText` takes what may be searched for inside. */
export function addResult(results: RecordedResults, result: Result, addText: (text: string) => void): void {
  results.waiting.push({ value: result.value, revision: result.revision })
  results.waitingBytes += result.bytes
  if (results.waitingBytes > WAITING_MAX_BYTES) indexResults(results, addText)
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
  const error = Object.hasOwn(value, 'error') ? value.error : undefined
  return error !== undefined && error !== null && error !== false && error !== ''
}

/** What the next of the results that wait takes in memory, about; 0 where none waits. */
export function nextResultBytes({ waiting, waitingBytes }: RecordedResults): number {
  return waiting.length === 0 ? 0 : Math.ceil(waitingBytes / waiting.length)
}

/** Indexes the oldest of those that wait: what `indexResults` does, a result at a time. */
export function indexNextResult(results: RecordedResults, addText: (text: string) => void): void {
  const bytes = nextResultBytes(results)
  const next = results.waiting.shift()
  if (next === undefined) return
  results.waitingBytes -= bytes
  results.index ??= new RowIndex(results.seed)
  results.index.add(next.value, next.revision)
  knowAll(results.index, next.value, addText)
}

export function indexResults(results: RecordedResults, addText: (text: string) => void): RowIndex | undefined {
  while (results.waiting.length > 0) indexNextResult(results, addText)
  return results.index
}

function knowAll(index: RowIndex, value: Json, addText: (text: string) => void): void {
  if (typeof value === 'string') knowText(index, value, addText)
  else if (typeof value === 'number') index.know(value)
  else if (Array.isArray(value)) for (const member of value) knowAll(index, member as Json, addText)
  else if (isJsonObject(value)) {
    for (const joined of joinedNames(value)) index.know(joined)
    for (const key of Object.keys(value)) {
      index.know(key)
      knowAll(index, value[key] as Json, addText)
    }
  }
}

function knowText(index: RowIndex, text: string, addText: (text: string) => void): void {
  index.know(text)
  addText(text)
}

/** A name that is given in two members may be handed on as one. */
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

export function resultsBytes({ waitingBytes, index, failed, left }: RecordedResults): number {
  return waitingBytes + (index?.bytes ?? 0) + 256 * failed.size + LEFT_BYTES * left.size
}

/** Plain JSON for a cached fold. */
export interface ResultsDump {
  readonly seed: number
  readonly waiting: RecordedResults['waiting']
  readonly waitingBytes: number
  readonly index?: RowIndexDump
  readonly failed: readonly (readonly [string, FailedCall])[]
  readonly succeeded: readonly string[]
  readonly since: Since
  readonly left: readonly (readonly [string, readonly { readonly word: string; readonly at: number }[]])[]
}

export function dumpResults(results: RecordedResults): ResultsDump {
  const { seed, waiting, waitingBytes, index, failed, succeeded, since, left } = results
  return {
    seed,
    waiting,
    waitingBytes,
    ...(index === undefined ? {} : { index: index.dump() }),
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
    failed: new Map(dump.failed),
    succeeded: new Set(dump.succeeded),
    since: dump.since,
    left: new Map(dump.left),
  }
}
