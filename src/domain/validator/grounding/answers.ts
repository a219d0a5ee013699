/**
 * @module Whole tool answers, by their question. An answer without names is identified by its question alone, and replaced by the next
 * answer to the same question (JUD-36).
 */
import { keyWords } from '../../../../projections/key-words.ts'
import { isReference } from '../../../../projections/list-identity.ts'
import { plainLower } from '../../../../projections/plain-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import type { Pauses, Yielding } from '../../yielding.ts'
import { isClockKey, isCounterKey } from '../meaning/rising.ts'
import { canonicalText } from '../report.ts'
import { asksForTrial } from './failed-answers.ts'
import { hashLongList, hashPair, hashText, hashValue, hashWideObject, type KnownHashes } from './hash.ts'
import { type ArgumentName, argumentNames } from './own-names.ts'
import type { IsTrusted } from './trusted-tools.ts'

/** Maximum number of entries; beyond it, no answer is known to replace another. */
const ENTRIES_MAX = 100_000
/** Maximum number of questions that share an answer; beyond it, the answer is attributed to none of them. */
const ASKING_MAX = 16
const MEMBERS_MAX = 16
/** Maximum size of an answer, in bytes; a context cannot hold a larger one. */
const ANSWER_MAX_BYTES = 2 * 1024 * 1024
const QUESTION_MAX_CHARS = 512
/** Maximum number and length of argument values of one call that may name its subject. */
const NAMED_MAX = 64
const NAMED_MAX_CHARS = 128
/** Maximum number of scalar arguments that are kept as a row. */
const ROW_MEMBERS_MAX = 16
const ENTRY_BYTES = 192

/** The tool, and the arguments that determine what the answer is about. */
export interface ToolQuestion {
  readonly tool: string
  readonly about: string
  /** Whole argument values, in the form of names; absent if they are unknown or too many. */
  readonly named?: readonly string[]
  /** The scalar arguments, if one of them is a reference: a bare answer is about the thing that they name (JUD-94). */
  readonly row?: JsonObject
  /** The scalar arguments, as keys and names, by which a row that repeats one of them may be found. */
  readonly by?: readonly ArgumentName[]
  /** The arguments ask only to try the call. */
  readonly isTrial?: true
}

export interface Answer {
  readonly asked: ToolQuestion
  /** The answer as it came, and the JSON contained in its texts. */
  readonly values: readonly Json[]
  readonly revision: number
  readonly bytes: number
}

interface Question {
  readonly tool: string
  readonly revision: number
  /** The latest answer and its members, as pairs of hashes of the member's name and its value. */
  readonly parts: readonly (readonly [member: number, value: number])[]
}

export interface Answers {
  readonly seed: number
  readonly questions: Map<number, Question>
  /** By the hash of a value: all questions that were ever answered with it, and the member of the answer that had it. */
  readonly byValue: Map<number, (readonly [question: number, member: number])[]>
  /** Shape hashes of all answers; a value of another shape need not be read. */
  readonly shapes: Set<number>
  isFull: boolean
}

export function noAnswers(seed: number): Answers {
  return { seed, questions: new Map(), byValue: new Map(), shapes: new Set(), isFull: false }
}

/** Names of arguments that say when, how often or by which request a question is asked, but not what it is about. */
const ASKING: ReadonlySet<string> = new Set(
  'n nonce seq sequence now timestamp timeout poll refresh|request id|correlation id|trace id|idempotency key|as of'
    .split('|')
    .flatMap((words, i) => (i === 0 ? words.split(' ') : [words])),
)

/** The question of a call. `digest` identifies arguments that are missing, nested or long. */
export function toolQuestion(tool: string, args: Json | undefined, digest?: string): ToolQuestion {
  const named = args === undefined ? undefined : namedIn(args)
  const row = args === undefined || digest !== undefined ? undefined : rowOf(args)
  const isTrial = args !== undefined && isJsonObject(args) && asksForTrial(args)
  const by = args !== undefined && isJsonObject(args) && digest === undefined ? argumentNames(args) : []
  return {
    tool,
    about: aboutOf(args, digest),
    ...(named && { named }),
    ...(row && { row }),
    ...(by.length > 0 && { by }),
    ...(isTrial && { isTrial }),
  }
}

function rowOf(args: Json): JsonObject | undefined {
  if (!isJsonObject(args)) return undefined
  const scalars = Object.entries(args).filter(([, value]) => typeof value !== 'object')
  if (scalars.length > ROW_MEMBERS_MAX || !scalars.some(([key]) => isReference(key))) return undefined
  const row = Object.fromEntries(scalars)
  return canonicalText(row).length > QUESTION_MAX_CHARS ? undefined : row
}

/** The argument values that may be names; undefined if there are more than the limit. */
function namedIn(args: Json): readonly string[] | undefined {
  const named = new Set<string>()
  const waiting: Json[] = [args]
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value === 'object' && value !== null) waiting.push(...(Object.values(value) as Json[]))
    else if ((typeof value === 'string' || typeof value === 'number') && `${value}`.length <= NAMED_MAX_CHARS)
      named.add(plainLower(`${value}`))
    if (named.size > NAMED_MAX || waiting.length > NAMED_MAX) return undefined
  }
  return [...named]
}

function aboutOf(args: Json | undefined, digest: string | undefined): string {
  const whole = digest ?? (args === undefined ? '' : canonicalText(args))
  if (args === undefined || !isJsonObject(args)) return whole
  const keys = Object.keys(args)
  if (keys.some((key) => typeof args[key] === 'object' && args[key] !== null)) return whole
  const about = canonicalText(
    Object.fromEntries(keys.flatMap((key) => (isAsking(key) ? [] : [[key, args[key] as Json]]))),
  )
  return about.length > QUESTION_MAX_CHARS ? whole : about
}

function isAsking(key: string): boolean {
  const words = keyWords(key)
  return isCounterKey(words) || isClockKey(words) || ASKING.has(words.join(' '))
}

/** Records an answer and, if it is an object, its lists and objects, because an agent may keep any of them. */
export function* addAnswer(
  answers: Answers,
  { asked, values, revision, bytes }: Answer,
  pauses: Pauses,
): Yielding<void> {
  if (answers.isFull) return
  const { seed, questions, byValue, shapes } = answers
  const { tool } = asked
  const question = hashText(seed, `${tool}\n${asked.about}`)
  const parts: [number, number][] = []
  const hashes: KnownHashes = new Map()
  for (const [member, part] of bytes > ANSWER_MAX_BYTES ? [] : values.flatMap(partsOf)) {
    const pair: [number, number] = [hashText(seed, member), yield* wholeHash(seed, part, { hashes, pauses })]
    parts.push(pair)
    shapes.add(shapeHash(seed, part))
    const asking = byValue.get(pair[1]) ?? []
    if (asking.length <= ASKING_MAX && !asking.some(([q, m]) => q === question && m === pair[0])) {
      asking.push([question, pair[0]])
      byValue.set(pair[1], asking)
    }
  }
  // An answer that is stored outside the events may be read after a later one.
  if (revision >= (questions.get(question)?.revision ?? 0)) questions.set(question, { tool, revision, parts })
  if (questions.size + byValue.size + shapes.size <= ENTRIES_MAX) return
  answers.isFull = true
  for (const each of [questions, byValue, shapes]) each.clear()
}

function partsOf(value: Json): readonly (readonly [string, Json])[] {
  if (!isJsonObject(value)) return [['', value]]
  const inside = Object.keys(value).filter((key) => typeof value[key] === 'object' && value[key] !== null)
  return [['', value], ...inside.slice(0, MEMBERS_MAX).map((key) => [`/${key}`, value[key] as Json] as const)]
}

/**
 * The latest answer, if it is `after` and an earlier one to the same question was `before`. Also undefined if another question to the tool
 * was once answered `before` and its answer is not `after` now, because it is then unknown which of them is meant.
 */
export function replacing(
  { questions, byValue }: Answers,
  { before, after, isTrusted }: { readonly before: number; readonly after: number; readonly isTrusted: IsTrusted },
): { readonly tool: string; readonly revision: number } | undefined {
  const candidates = byValue.get(before) ?? []
  if (candidates.length > ASKING_MAX) return undefined
  const now = candidates.map(([question, member]) => {
    const { tool, revision, parts } = questions.get(question) as Question
    return { tool, revision, isAfter: parts.some(([m, value]) => m === member && value === after) }
  })
  const found = now.find(({ tool, isAfter }) => isAfter && isTrusted(tool))
  return found === undefined || now.some(({ tool, isAfter }) => tool === found.tool && !isAfter) ? undefined : found
}

export function shapeHash(seed: number, value: Json): number {
  if (Array.isArray(value)) return 0
  if (!isJsonObject(value)) return 1
  let shape = 2
  for (const key of Object.keys(value)) shape = (shape + hashText(seed, key)) | 0
  return shape
}

interface Hashing {
  readonly hashes: KnownHashes
  readonly pauses: Pauses
}

/** Hash of a whole value, independent of its place; computed in pieces. */
export function* wholeHash(seed: number, value: Json, hashing: Hashing): Yielding<number> {
  yield* hashInside(seed, value, hashing)
  return hashPair(seed, 3, hashValue(seed, '', value, hashing.hashes))
}

/** Hashes inner values first, so that no step reads more than the members of one list or object. */
function* hashInside(seed: number, value: Json, { hashes, pauses }: Hashing): Yielding<void> {
  const waiting: { readonly key: string; readonly value: Json; readonly isOpen: boolean }[] = [
    { key: '', value, isOpen: false },
  ]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { key, value: inside, isOpen } = next
    if (typeof inside !== 'object' || inside === null) continue
    if (!isOpen) {
      waiting.push({ key, value: inside, isOpen: true })
      const names = Object.keys(inside)
      for (const name of names) {
        const member = (inside as { readonly [name: string]: Json })[name] as Json
        if (typeof member !== 'object' || member === null) continue
        waiting.push({ key: Array.isArray(inside) ? key : name, value: member, isOpen: false })
      }
      pauses.count(names.length)
    } else if (isJsonObject(inside)) yield* hashWideObject({ seed, key, object: inside }, hashes, pauses)
    else yield* hashLongList({ seed, key, list: inside }, hashes, pauses)
    if (pauses.due()) yield
  }
}

export function answersBytes({ questions, byValue, shapes }: Answers): number {
  return ENTRY_BYTES * (2 * questions.size + byValue.size + shapes.size)
}

/** Plain JSON for a cached fold. */
export interface AnswersDump {
  readonly isFull: boolean
  readonly questions: readonly (readonly [number, Question])[]
  readonly askedBy: readonly (readonly [number, readonly (readonly [number, number])[]])[]
  readonly shapes: readonly number[]
}

export function dumpAnswers({ isFull, questions, byValue, shapes }: Answers): AnswersDump {
  return { isFull, questions: [...questions], askedBy: [...byValue], shapes: [...shapes] }
}

export function loadAnswers(seed: number, { isFull, questions, askedBy, shapes }: AnswersDump): Answers {
  const asked = askedBy.map(([value, asking]): [number, (readonly [number, number])[]] => [value, [...asking]])
  return { seed, isFull, questions: new Map(questions), byValue: new Map(asked), shapes: new Set(shapes) }
}
