/** @module Whole numbers below a hundred in English words: `six`, `twenty-five`. */

const ONES =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  )
const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')

const WORDS: ReadonlyMap<string, number> = new Map([
  ...ONES.map((word, value): [string, number] => [word, value]),
  ...TENS.flatMap((word, i): [string, number][] => {
    const value = 20 + 10 * i
    return [[word, value], ...ONES.slice(1, 10).map((one, j): [string, number] => [`${word}-${one}`, value + j + 1])]
  }),
])
const WORD_MAX_CHARS = 13
const LETTER = /^[a-z]/i

/** The number that a text begins with, and what follows it: '' where it says nothing else. */
export function readNumberWord(text: string): { readonly value: number; readonly rest: string } | undefined {
  if (!LETTER.test(text)) return undefined
  const space = text.indexOf(' ')
  const end = space < 0 ? text.length : space
  if (end > WORD_MAX_CHARS) return undefined
  const value = WORDS.get(text.slice(0, end).toLowerCase())
  return value === undefined ? undefined : { value, rest: text.slice(end + 1) }
}
