/**
 * @module An index of the run's records so far: contexts, the run's input, and tool results. It answers whether a name or a number occurs
 * in any of them (JUD-20). It is part of the fold: its answers are pure, and its text index is built on the first query.
 */
import { normaliseEntity } from '../../../projections/set-text.ts'
import { isJsonObject, type Json } from '../../../schemas/json.ts'
import type { Pauses, Yielding } from '../yielding.ts'
import {
  addResult,
  dumpResults,
  indexResults,
  loadResults,
  noResults,
  type RecordedResults,
  type Result,
  type ResultsDump,
  resultsBytes,
} from './grounding/recorded-results.ts'
import type { RowIndex } from './grounding/row-index.ts'
import { hasPhrase, numbersOf, wordsOf } from './words.ts'

/** Maximum number of distinct numbers and strings; beyond it, the index gives no verdicts. */
export const EVIDENCE_MAX_ENTRIES = 200_000
/** Maximum size of all distinct strings together, in UTF-16 code units; beyond it, the index gives no verdicts. */
export const EVIDENCE_MAX_CHARS = 8 * 1024 * 1024
/** Maximum code units that the look-ups of one handoff may search: about 20 ms. */
export const LOOKUP_MAX_CHARS = 64 * 1024 * 1024

/** Steps per character searched, per character split into words, and per text split into words. */
const SEARCH_STEPS = 0.01
const WORD_STEPS = 0.5
const TEXT_STEPS = 10

/** Longer phrases are found only if they are a whole recorded string. */
const PHRASE_MAX_CHARS = 256
/** Long texts are indexed and searched in pieces that overlap by a phrase, so that a look-up does not read all of a large result. */
const PIECE_CHARS = 2048
/** Number of hash buckets for words: a collision costs a search without a match, whereas a map of all words would cost 100 MB. */
const BUCKETS = 1 << 16

export interface Evidence {
  readonly numbers: Set<number>
  /** Distinct strings, trimmed, NFC, lower case. They include object keys: a tool that answers `{"HAT001": ...}` names HAT001. */
  readonly texts: Set<string>
  chars: number
  truncated: boolean
  readonly index: TextIndex
  /** Tool results as rows. */
  readonly results: RecordedResults
  /** Results that are stored outside the events, in order; they are read before a handoff is judged. */
  readonly unread: UnreadResult[]
}

/** A result that the evidence holds by its reference only. */
export interface UnreadResult {
  readonly digest: string
  /** The call that the result is of; absent for the run's input. */
  readonly callId?: string
  readonly revision: number
}

interface TextIndex {
  /** Texts in order of arrival; those before `indexed` have been split into pieces. */
  readonly list: string[]
  indexed: number
  pieces: Piece[]
  /** Indexes into `pieces`, by the hash of each word in the piece. */
  buckets: Map<number, number[]>
  readonly numbers: Set<number>
}

/** A phrase that starts in the first `PIECE_CHARS` after `from` lies completely in `text`, with at least one character on either side. */
interface Piece {
  readonly text: string
  readonly from: number
}

/** The code units that one handoff may still search. */
export interface LookupBudget {
  charsLeft: number
}

interface Looking {
  readonly budget: LookupBudget
  readonly pauses: Pauses
}

/** Maximum number of distinct texts after which texts without whitespace (names) are matched only as a whole. */
const NAMES_SEARCHED_MAX = 50_000

/** `seed` seeds the row hashes; it must stay unknown to the agents that are judged. */
export function emptyEvidence(seed = 0): Evidence {
  return {
    numbers: new Set(),
    texts: new Set(),
    chars: 0,
    truncated: false,
    index: { list: [], indexed: 0, pieces: [], buckets: new Map(), numbers: new Set() },
    results: noResults(seed),
    unread: [],
  }
}

/** Adds a tool's result, which is read once a handoff needs it. */
export function addToolResult(evidence: Evidence, result: Result): Evidence {
  addResult(evidence.results, result)
  return evidence
}

/**
 * Reads the pending results and returns the rows of all results so far; undefined if there are none. Once started, it must be run to its
 * end before the evidence is used again, unless the evidence is discarded.
 */
export function settle(evidence: Evidence, pauses: Pauses): Yielding<RowIndex | undefined> {
  return indexResults(evidence.results, { addText: (text) => searchLater(evidence, text), pauses })
}

function searchLater(evidence: Evidence, text: string): void {
  if (evidence.truncated || (evidence.texts.size > NAMES_SEARCHED_MAX && !/\s/.test(text))) return
  addText(evidence, text)
}

/** Like `groundOf`, but also searches the rows of tool results, which must be settled. */
export function* isRecorded(
  evidence: Evidence,
  leaf: string | number,
  { budget, pauses }: Looking,
): Yielding<boolean | 'truncated'> {
  const { index: rows } = evidence.results
  if (rows?.knows(leaf) === true) return true
  if (typeof leaf === 'string' && String(Number(leaf)) === leaf && rows?.knows(Number(leaf)) === true) return true
  return yield* groundOf(evidence, leaf, { budget, pauses })
}

function isComplete({ numbers, texts }: Evidence, leaf: string | number): boolean {
  if (typeof leaf === 'number') return numbers.has(leaf)
  const text = normaliseEntity(leaf)
  if (text === '' || texts.has(text)) return true
  return String(Number(text)) === text && numbers.has(Number(text))
}

/** Adds all parts of a value. The evidence is changed in place and returned, so keep no other reference to it. */
export function addEvidence(evidence: Evidence, value: Json): Evidence {
  if (evidence.truncated) return evidence
  if (typeof value === 'string') addText(evidence, value)
  else if (typeof value === 'number') addNumber(evidence, value)
  else if (Array.isArray(value)) for (const member of value) addEvidence(evidence, member)
  else if (isJsonObject(value)) {
    for (const key of Object.keys(value)) {
      addText(evidence, key)
      addEvidence(evidence, value[key] as Json)
    }
  }
  return evidence
}

/**
 * Whether a string (an entity, as a person would look it up) or a number occurs in the records. A number also counts if a recorded string
 * contains it (`2,500 USD`), and a string of digits if the number is recorded. `'truncated'` gives no verdict: the index or the search
 * budget is exhausted.
 */
export function* groundOf(
  evidence: Evidence,
  leaf: string | number,
  { budget, pauses }: Looking,
): Yielding<boolean | 'truncated'> {
  if (evidence.truncated) return 'truncated'
  if (isComplete(evidence, leaf)) return true
  yield* indexTexts(evidence.index, pauses)
  if (typeof leaf === 'number') return evidence.index.numbers.has(leaf)
  const { charsLeft } = budget
  const found = isInSomeText(evidence, normaliseEntity(leaf), budget)
  pauses.count((charsLeft - budget.charsLeft) * SEARCH_STEPS)
  if (pauses.due()) yield
  return found
}

function isInSomeText(evidence: Evidence, phrase: string, budget: LookupBudget): boolean | 'truncated' {
  if (phrase.length > PHRASE_MAX_CHARS) return false
  const { buckets, pieces } = evidence.index
  let rarest: readonly number[] | undefined
  for (const word of new Set(wordsOf(phrase))) {
    const places = buckets.get(bucketOf(word)) ?? []
    if (rarest === undefined || places.length < rarest.length) rarest = places
  }
  // A phrase without a letter or a digit has no word to look up; it matches only as a whole text.
  for (const place of rarest ?? []) {
    const { text, from } = pieces[place] as Piece
    budget.charsLeft -= text.length
    if (budget.charsLeft < 0) return 'truncated'
    if (hasPhrase(text, phrase, from)) return true
  }
  return false
}

function addNumber(evidence: Evidence, value: number): void {
  evidence.numbers.add(value)
  if (isFull(evidence)) truncate(evidence)
}

function addText(evidence: Evidence, value: string): void {
  const text = normaliseEntity(value)
  if (text === '' || evidence.texts.has(text)) return
  evidence.texts.add(text)
  evidence.index.list.push(text)
  evidence.chars += text.length
  if (isFull(evidence)) truncate(evidence)
}

function isFull({ numbers, texts, chars }: Evidence): boolean {
  return numbers.size + texts.size > EVIDENCE_MAX_ENTRIES || chars > EVIDENCE_MAX_CHARS
}

/** Discards the contents, because a truncated index gives no verdicts. */
function truncate(evidence: Evidence): void {
  evidence.truncated = true
  evidence.numbers.clear()
  evidence.texts.clear()
  evidence.chars = 0
  evidence.index.list.length = 0
  evidence.index.indexed = 0
  evidence.index.pieces = []
  evidence.index.buckets = new Map()
  evidence.index.numbers.clear()
}

/** Splits the texts into words. This is done on the first search inside texts, because most runs repeat received names as a whole. */
function* indexTexts(index: TextIndex, pauses: Pauses): Yielding<void> {
  while (index.indexed < index.list.length) {
    const text = index.list[index.indexed] as string
    for (let at = 0; at < text.length; at += PIECE_CHARS) {
      indexPiece(index, text, at)
      pauses.count(TEXT_STEPS + Math.min(PIECE_CHARS, text.length - at) * WORD_STEPS)
      if (pauses.due()) yield
    }
    for (const number of numbersOf(text)) index.numbers.add(number)
    index.indexed += 1
  }
}

function indexPiece(index: TextIndex, text: string, at: number): void {
  // Two more code units on either side, because a word border is decided by whole characters.
  const from = Math.min(at, 2)
  const piece = text.slice(at - from, at + PIECE_CHARS + PHRASE_MAX_CHARS + 2)
  const place = index.pieces.push({ text: piece, from }) - 1
  for (const bucket of new Set(wordsOf(piece).map(bucketOf))) {
    const places = index.buckets.get(bucket)
    if (places === undefined) index.buckets.set(bucket, [place])
    else places.push(place)
  }
}

/** FNV-1a over UTF-16 code units. */
function bucketOf(word: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 16)) & (BUCKETS - 1)
}

/** Memory per item in V8, rounded up: a set entry, a string header, a piece with the positions of its words, and a list of positions. */
const ENTRY_BYTES = 96
const PIECE_BYTES = 3_400
const BUCKET_BYTES = 208
const UNREAD_BYTES = 256

/** An upper estimate of the memory of an index in bytes, from its counts alone. */
export function evidenceBytes({ numbers, texts, chars, index, results, unread }: Evidence): number {
  const entries = numbers.size + texts.size + index.numbers.size
  return (
    resultsBytes(results) +
    UNREAD_BYTES * unread.length +
    2 * chars +
    ENTRY_BYTES * entries +
    PIECE_BYTES * index.pieces.length +
    BUCKET_BYTES * index.buckets.size
  )
}

/** Plain JSON for a cached fold. Its format is part of the fold's version. */
export interface EvidenceDump {
  readonly truncated: boolean
  readonly numbers: readonly number[]
  readonly texts: readonly string[]
  readonly results: ResultsDump
  readonly unread: readonly UnreadResult[]
}

export function dumpEvidence({ numbers, texts, truncated, results, unread }: Evidence): EvidenceDump {
  return { truncated, numbers: [...numbers], texts: [...texts], results: dumpResults(results), unread: [...unread] }
}

export function loadEvidence(dump: EvidenceDump): Evidence {
  const evidence: Evidence = { ...emptyEvidence(), results: loadResults(dump.results), unread: [...dump.unread] }
  if (dump.truncated) truncate(evidence)
  for (const value of dump.numbers) addEvidence(evidence, value)
  for (const text of dump.texts) addEvidence(evidence, text)
  return evidence
}
