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
/** What filters ask for by name, and nobody reads. */
const IDENTIFIER = /^(?:sha256:[0-9a-f]{64}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/
/** Members whose texts are encrypted or signatures. */
const UNREAD: ReadonlySet<string> = new Set(['$sealed', 'signature'])

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

/** Lower case, without accents and compatibility forms. */
export function wordsOf(text: string): readonly string[] {
  return (
    text
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

/** The words of a body, with a border between its texts; empty where it has none. */
export function searchableText(data: JsonObject): string {
  const texts: string[] = []
  for (const { value } of leaves(data)) {
    const words = wordsOf(value)
    if (words.length > 0) texts.push(words.join(' '))
  }
  return texts.join(` ${BORDER} `)
}

/** What an index over `searchableText` finds. */
export function matchesText(phrases: Phrases, data: JsonObject): boolean {
  const text = ` ${searchableText(data)} `
  return phrases.every((words) => text.includes(` ${words.join(' ')} `))
}

/** Where the first phrase is found that is found in one text. */
export function snippetOf(phrases: Phrases, data: JsonObject): Snippet | undefined {
  for (const { path, value } of leaves(data)) {
    for (const [first = ''] of phrases) {
      const place = placeOf(first, value)
      if (place !== undefined) return { path, ...around(value, place) }
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

interface Leaf {
  readonly path: string
  readonly value: string
}

/** Of a body: what the ledger adds of the run as it stands then says nothing that the events before it do not. */
function* leaves({ snapshot: _, ...said }: JsonObject): Generator<Leaf> {
  yield* leavesBelow(said)
}

function* leavesBelow(value: Json, path = ''): Generator<Leaf> {
  if (typeof value === 'number') yield { path, value: String(value) }
  else if (typeof value === 'string' && !IDENTIFIER.test(value)) yield { path, value }
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* leavesBelow(item, `${path}/${index}`)
  } else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      if (!UNREAD.has(name)) yield* leavesBelow(member, path + pointerStep(name))
    }
  }
}
