/** @module Words: lower case, without accents and other forms of a character; those that stand together stand in one text. */
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import type { Header } from '../../../schemas/header.ts'
import { isJsonObject, type Json } from '../../../schemas/json.ts'
import type { BundleEvent } from './gathered.ts'
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

/** `words`: the rule by which it was searched; the first one, which is absent, looked at no names of members, no ids and no runs. */
export function hasPhrases(phrases: Phrases, { header, data }: BundleEvent, words: AnswerQuestion['words']): boolean {
  const isFirst = words === undefined
  const run = header.type === 'RunStarted' && !isFirst ? [runOf(header.stream) ?? ''] : []
  const texts = [...run, ...textsOf(data, isFirst ? [] : WRITTEN, true)]
  const spaced = texts.map((text) => ` ${wordsOf(text).join(' ')} `)
  return phrases.every((each) => spaced.some((text) => text.includes(` ${each.join(' ')} `)))
}

/** Members that hold what agents and tools wrote: there names of members are searched, too, and ids. */
const WRITTEN = [
  ...['payload', 'args', 'result', 'input', 'output', 'restored', 'evidence', 'frozen', 'value', 'details'],
  ...['before', 'after'],
]

/** `written`: undefined within what was written. */
function textsOf(value: Json, written: readonly string[] | undefined, isBody = false): readonly string[] {
  if (typeof value === 'number') return [String(value)]
  if (typeof value === 'string') return written !== undefined && IDENTIFIER.test(value) ? [] : [value]
  if (Array.isArray(value)) return value.flatMap((each) => textsOf(each, written))
  if (!isJsonObject(value)) return []
  return Object.entries(value).flatMap(([name, each]) => {
    if (written === undefined) return name === '$sealed' ? [] : [name, ...textsOf(each, undefined)]
    const isRead = name !== '$sealed' && name !== 'signature' && !(isBody && name === 'snapshot')
    return isRead ? textsOf(each, written.includes(name) ? undefined : written) : []
  })
}
