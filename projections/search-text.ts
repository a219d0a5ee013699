/**
 * @module Text search in event bodies: extracts the texts of a body, parses search phrases, and matches the two. Words are split only here,
 * so that an index finds exactly what this module matches.
 */
import { isJsonObject, type Json, type JsonObject } from '../schemas/json.ts'
import { pointerStep } from '../schemas/json-pointer.ts'

/** Separates the texts of a body, so that no phrase matches across two of them. */
const BORDER = '\u{e000}'
/** Scripts without spaces between words: each character counts as a word, and a longer word as a phrase. */
const UNSPACED = '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}'
const WORD = new RegExp(`[${UNSPACED}]|(?:(?![${UNSPACED}])[\\p{L}\\p{N}])+`, 'gu')
const SPAN = /[\p{L}\p{N}\p{M}]+/gu
/** Identifiers, which filters match by name; they are searched only within content written by agents and tools. */
const IDENTIFIER = /^(?:sha256:[0-9a-f]{64}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/
/** Names of the member that holds encrypted texts and of the member that holds a signature. */
const [ENCRYPTED, SIGNATURE] = ['$sealed', 'signature']
/** Members with content written by agents and tools, in which member names are searched too. */
const WRITTEN: ReadonlySet<string> = new Set([
  ...['payload', 'args', 'result', 'input', 'output', 'restored', 'evidence', 'frozen', 'value', 'details'],
  ...['before', 'after'],
])

/** Maximum number of characters in a snippet before and after the match. */
const SNIPPET_CHARS = 80

/** A search: each phrase is a sequence of one or more consecutive words, and every phrase must be found. */
export type Phrases = readonly (readonly string[])[]

export interface Snippet {
  /** JSON Pointer of the text in the body. */
  readonly path: string
  readonly before: string
  readonly match: string
  readonly after: string
}

/** Text without accents or compatibility forms. */
const PLAIN = /^[\x20-\x7e]*$/
const PLAIN_WORD = /[a-z0-9]+/g

/**
 * Words in lower case, without accents and compatibility forms. Accents are also removed first, because ordering many consecutive ones
 * takes quadratic time.
 */
export function wordsOf(text: string): readonly string[] {
  if (PLAIN.test(text)) return text.toLowerCase().match(PLAIN_WORD) ?? []
  return (
    text
      .replace(/\p{M}+/gu, '')
      .normalize('NFKD')
      .replace(/\p{M}+/gu, '')
      .toLowerCase()
      .match(WORD) ?? []
  )
}

/** Undefined if the text contains no word. */
export function parsePhrases(text: string): Phrases | undefined {
  const parts = [...text.matchAll(/"([^"]*)"?|[^\s"]+/g)].map(([whole, quoted]) => wordsOf(quoted ?? whole))
  const phrases = parts.filter((words) => words.length > 0)
  return phrases.length === 0 ? undefined : phrases
}

/** The words of a body, with a border between its texts; empty if it has none. `run`: the id of the run that the event starts. */
export function searchableText(data: JsonObject, run?: string): string {
  const texts: string[] = run === undefined ? [] : [wordsOf(run).join(' ')]
  for (const value of textsOf(data)) {
    const words = wordsOf(value)
    if (words.length > 0) texts.push(words.join(' '))
  }
  return texts.join(` ${BORDER} `)
}

/** The same words for an index that splits ASCII and folds its case itself, as SQLite's `ascii` tokenizer does: pure ASCII texts are passed unchanged. */
export function indexedText(data: JsonObject, run?: string): string {
  const texts: string[] = run === undefined ? [] : [wordsOf(run).join(' ')]
  for (const value of textsOf(data)) {
    if (PLAIN.test(value)) texts.push(value)
    else {
      const words = wordsOf(value)
      if (words.length > 0) texts.push(words.join(' '))
    }
  }
  return texts.join(` ${BORDER} `)
}

/** Whether a body matches; the same result as a search in an index over `searchableText`. */
export function matchesText(phrases: Phrases, data: JsonObject, run?: string): boolean {
  const text = ` ${searchableText(data, run)} `
  return phrases.every((words) => text.includes(` ${words.join(' ')} `))
}

/** A snippet from the first text that contains the first word of any phrase. */
export function snippetOf(phrases: Phrases, data: JsonObject): Snippet | undefined {
  const paths: string[] = []
  for (const [at, value] of textsOf(data, paths).entries()) {
    for (const [first = ''] of phrases) {
      const place = placeOf(first, value)
      if (place !== undefined) return { path: paths[at] ?? '', ...around(value, place) }
    }
  }
  return undefined
}

function placeOf(word: string, value: string): { from: number; to: number } | undefined {
  for (const match of value.matchAll(SPAN)) {
    if (wordsOf(match[0]).includes(word)) return { from: match.index, to: match.index + match[0].length }
  }
  return undefined
}

/** Drops lone surrogates that cutting may leave. */
function around(value: string, { from, to }: { from: number; to: number }): Omit<Snippet, 'path'> {
  const end = Math.min(to, from + SNIPPET_CHARS)
  const part = (a: number, b: number) => value.slice(Math.max(0, a), b).replace(/\p{Cs}/gu, '')
  return { before: part(from - SNIPPET_CHARS, from), match: part(from, end), after: part(end, end + SNIPPET_CHARS) }
}

/**
 * Texts and numbers of a body in order, including member names within content of agents and tools. `paths` receives the JSON Pointer of
 * each (for a name, that of its member); an index omits it.
 */
function textsOf(data: JsonObject, paths?: string[]): readonly string[] {
  const texts: string[] = []
  const take = (text: string, path: string): void => {
    texts.push(text)
    paths?.push(path)
  }
  const walk = (value: Json, path: string, isWritten: boolean): void => {
    if (typeof value === 'number' || (typeof value === 'string' && (isWritten || !IDENTIFIER.test(value)))) {
      take(String(value), path)
    } else if (Array.isArray(value)) {
      for (let at = 0; at < value.length; at += 1)
        walk(value[at] as Json, paths === undefined ? '' : `${path}/${at}`, isWritten)
    } else if (isJsonObject(value)) {
      for (const name in value) {
        // The snapshot repeats the state of the run, which earlier events contain already.
        if (name === ENCRYPTED || (!isWritten && name === SIGNATURE) || (value === data && name === 'snapshot'))
          continue
        const place = paths === undefined ? '' : path + pointerStep(name)
        if (isWritten) take(name, place)
        walk(value[name] as Json, place, isWritten || WRITTEN.has(name))
      }
    }
  }
  walk(data, '', false)
  return texts
}
