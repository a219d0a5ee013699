/** @module Whether one key may be another name of a value that was under a different key. */
import { keyWords, singular } from '../../../../projections/key-words.ts'
import { isJsonObject, type Json } from '../../../../schemas/json.ts'

/** Words that say nothing about what a key holds. */
const STOP: ReadonlySet<string> = new Set(
  'a an the of by at in on to for from and or is are was has have be with must'.split(' '),
)
const NEGATIONS: ReadonlySet<string> = new Set(['not', 'no', 'non', 'never', 'without', 'anti'])
const NEGATING = /^(?:un|non|dis|in|im|ir)/

/** Words of which one turns the meaning of a key with the other. */
const OPPOSITES: ReadonlySet<string> = new Set(
  (
    'max min|maximum minimum|highest lowest|upper lower|high low|most least|allowed forbidden|permitted prohibited|required forbidden|required optional|approved rejected|' +
    'accepted rejected|accepted declined|granted denied|included excluded|include exclude|allow deny|allow block|buyer seller|left right|from to|start end|first last|before after|' +
    'old new|sender receiver|sender recipient|payer payee|debit credit|lender borrower|source target|origin destination|gross net|north south|east west|open closed|plus minus|' +
    'enabled disabled|employer employee|plaintiff defendant|landlord tenant|home away|arrival departure|inlet outlet|input output|income expense|asset liability|paid due'
  )
    .split('|')
    .flatMap((pair) => [pair, pair.split(' ').reverse().join(' ')]),
)
const SIMILAR_MIN_CHARS = 4

/** An object tells what it is by its members. A number says less about itself than a text, so its new name may only say more or less than the old one. */
export function mayBeRenamed(before: string, after: string, value: Json): boolean {
  const [was, is] = [keyWords(before), keyWords(after)]
  const [gone, come] = [was.filter((word) => !is.includes(word)), is.filter((word) => !was.includes(word))]
  if (gone.length + come.length === 0) return true
  if (isTurned(gone, come)) return false
  if (isJsonObject(value)) return true
  if (typeof value === 'number') return [gone, come].some((words) => words.every((word) => STOP.has(word)))
  const telling = was.filter((word) => !STOP.has(word))
  return telling.some((word) => is.some((other) => !STOP.has(other) && isSimilar(word, other)))
}

function isTurned(gone: readonly string[], come: readonly string[]): boolean {
  if ([...gone, ...come].some((word) => NEGATIONS.has(word))) return true
  return gone.some((a) => come.some((b) => OPPOSITES.has(`${a} ${b}`) || isNegated(a, b) || isNegated(b, a)))
}

function isNegated(word: string, other: string): boolean {
  return other.length >= SIMILAR_MIN_CHARS && NEGATING.test(word) && word.replace(NEGATING, '') === other
}

function isSimilar(a: string, b: string): boolean {
  if (singular(a) === singular(b)) return true
  const [short, long] = a.length < b.length ? [a, b] : [b, a]
  return short.length >= SIMILAR_MIN_CHARS && long.includes(short)
}
