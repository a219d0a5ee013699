/**
 * @module Text that can be searched: what a body's texts are made of, what a search asks for, and where the two meet. Words are taken
 * apart here and nowhere else, so that an index finds exactly what this module says.
 */
import { isJsonObject, type Json, type JsonObject } from '../schemas/json.ts'
import { pointerStep } from '../schemas/json-pointer.ts'

/** Between the texts of a body: words on both sides of it do not stand together. */
const BORDER = '\u{e000}'
/** Scripts without spaces between words: each character is a word, and a longer one is words that stand together. */
const UNSPACED = '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}'
const WORD = new RegExp(`[${UNSPACED}]|(?:(?![${UNSPACED}])[\\p{L}\\p{N}])+`, 'gu')
const SPAN = /[\p{L}\p{N}\p{M}]+/gu
/** What filters ask for by name, and nobody reads: outside of what agents and tools wrote it is not searched. */
const IDENTIFIER = /^(?:sha256:[0-9a-f]{64}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/
/** Members whose texts are encrypted, and those whose texts are signatures. */
const [ENCRYPTED, SIGNATURE] = ['$sealed', 'signature']
/** Members that hold what agents and tools wrote: there the names of members are searched, too. */
const WRITTEN: ReadonlySet<string> = new Set([
  ...['payload', 'args', 'result', 'input', 'output', 'restored', 'evidence', 'frozen', 'value', 'details'],
  ...['before', 'after'],
])

/** Characters of a snippet before and after what was found. */
const SNIPPET_CHARS = 80

/** A search: each phrase is one word or several that stand together; all of them must be found. */
export type Phrases = readonly (readonly string[])[]

export interface Snippet {
  /** JSON Pointer of the text in the body. */
  readonly path: string
  readonly before: string
  readonly match: string
  readonly after: string
}

/** Neither accents nor other forms of a character. */
const PLAIN = /^[\x20-\x7e]*$/
const PLAIN_WORD = /[a-z0-9]+/g

/** Lower case, without accents and compatibility forms. Accents go first, too: to bring many in a row into their order takes quadratic time. */
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

/** Undefined where the text holds no word at all. */
export function parsePhrases(text: string): Phrases | undefined {
  const parts = [...text.matchAll(/"([^"]*)"?|[^\s"]+/g)].map(([whole, quoted]) => wordsOf(quoted ?? whole))
  const phrases = parts.filter((words) => words.length > 0)
  return phrases.length === 0 ? undefined : phrases
}

/** The words of a body, with a border between its texts; empty where it has none. `run`: the id of the run that it begins. */
export function searchableText(data: JsonObject, run?: string): string {
  const texts: string[] = run === undefined ? [] : [wordsOf(run).join(' ')]
  for (const value of textsOf(data)) {
    const words = wordsOf(value)
    if (words.length > 0) texts.push(words.join(' '))
  }
  return texts.join(` ${BORDER} `)
}

/**
 * The same words for an index that takes ASCII apart and folds its case by itself, as SQLite's `ascii` tokenizer does: a text that has
 * nothing else goes there as it is.
 */
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

/** What an index over `searchableText` finds. */
export function matchesText(phrases: Phrases, data: JsonObject, run?: string): boolean {
  const text = ` ${searchableText(data, run)} `
  return phrases.every((words) => text.includes(` ${words.join(' ')} `))
}

/** Where the first phrase is found that is found in one text. */
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

/** Cut between characters, never within a pair of surrogates. */
function around(value: string, { from, to }: { from: number; to: number }): Omit<Snippet, 'path'> {
  const end = Math.min(to, from + SNIPPET_CHARS)
  const part = (a: number, b: number) => value.slice(Math.max(0, a), b).replace(/\p{Cs}/gu, '')
  return { before: part(from - SNIPPET_CHARS, from), match: part(from, end), after: part(end, end + SNIPPET_CHARS) }
}

/**
 * Texts and numbers of a body, in its order, and the names of the members of what agents and tools wrote; `paths` gets the JSON Pointer of each, of a
 * name that of its member, which an index has no use for.
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
        // What the ledger adds of the run as it stands then says nothing that the events before it do not.
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
