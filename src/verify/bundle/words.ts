/** @module Words: lower case, without accents and other forms of a character; those that stand together stand in one text. */
import type { Header } from '../../../schemas/header.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { runOf } from './query.ts'

const UNSPACED = '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}'
const WORD = new RegExp(`[${UNSPACED}]|(?:(?![${UNSPACED}])[\\p{L}\\p{N}])+`, 'gu')
const IDENTIFIER = /^(?:sha256:[0-9a-f]{64}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/
const wordsOf = (text: string): readonly string[] =>
  text
    .replace(/\p{M}+/gu, '')
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .match(WORD) ?? []
/** Bodies of the ledger's own events are not searched, nor is what a snapshot repeats. */
export const isSearched = ({ stream, type }: Header): boolean => runOf(stream) !== undefined && type !== 'SnapshotTaken'

/** What is to be found: words that stand together, each time. */
export type Phrases = readonly (readonly string[])[]

export function phrasesOf(text: string): Phrases {
  const parts = [...text.matchAll(/"([^"]*)"?|[^\s"]+/g)].map(([whole, quoted]) => wordsOf(quoted ?? whole))
  return parts.filter((words) => words.length > 0)
}

export function hasPhrases(phrases: Phrases, data: JsonObject): boolean {
  const texts = textsOf(data, true).map((text) => ` ${wordsOf(text).join(' ')} `)
  return phrases.every((words) => texts.some((text) => text.includes(` ${words.join(' ')} `)))
}

function textsOf(value: Json, isBody = false): readonly string[] {
  if (typeof value === 'number') return [String(value)]
  if (typeof value === 'string') return IDENTIFIER.test(value) ? [] : [value]
  if (Array.isArray(value)) return value.flatMap((each) => textsOf(each))
  if (!isJsonObject(value)) return []
  const isRead = ([name]: readonly [name: string, value: Json]) =>
    name !== '$sealed' && name !== 'signature' && !(isBody && name === 'snapshot')
  return Object.entries(value)
    .filter(isRead)
    .flatMap(([, each]) => textsOf(each))
}
