/** @module Splits a key into words: `maxDoseMg`, `max_dose_mg` and `max-dose mg` are `max`, `dose`, `mg`. */

const KEY_MAX_CHARS = 128
const MEMO_MAX = 16_384

const memo = new Map<string, readonly string[]>()

export function keyWords(key: string): readonly string[] {
  const known = memo.get(key)
  if (known !== undefined) return known
  const words = key.length > KEY_MAX_CHARS ? [] : split(key)
  if (memo.size >= MEMO_MAX) memo.clear()
  memo.set(key, words)
  return words
}

type Kind = 'capital' | 'small' | 'digit' | 'border'

/** A word ends where the kind of character changes; a capital followed by small letters begins a new one (`HTTPServer`: `http`, `server`). */
function split(key: string): readonly string[] {
  const words: string[] = []
  let from = 0
  let kind: Kind = 'border'
  for (let at = 0; at <= key.length; at++) {
    const next = at < key.length ? kindOf(key.charAt(at)) : 'border'
    if (next === kind) continue
    const isContinued = kind === 'capital' && next === 'small'
    if (isContinued && at - from > 1) words.push(key.slice(from, at - 1))
    else if (!isContinued && kind !== 'border') words.push(key.slice(from, at))
    from = isContinued ? at - 1 : at
    kind = next
  }
  return words.map((word) => word.toLowerCase())
}

/** Letters without case count as small ones, signs as borders. No Unicode property escapes, which some engines that run this fold lack. */
function kindOf(character: string): Kind {
  if (character >= '0' && character <= '9') return 'digit'
  const [lower, upper] = [character.toLowerCase(), character.toUpperCase()]
  if (character !== lower) return 'capital'
  return character !== upper || character > '\u00bf' ? 'small' : 'border'
}

/** `passengers` -> `passenger`, `entries` -> `entry`, `addresses` -> `address`; a word that is not a plural is unchanged. */
export function singular(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`
  if (/(?:ss|x|ch|sh)es$/.test(word)) return word.slice(0, -2)
  return word.length > 2 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word
}
