/**
 * @module Quantities in parts: ISO 8601 durations (`PT1M30S`, `P2W`), and numbers with descending units of one dimension (`1 h 30 min`, `5
 * ft 10 in`). Years and months have no fixed length in days, so a mix of both kinds is not a quantity.
 */
import { type Quantity, readUnit, type Unit } from './units.ts'

const ISO_DATE = /^P(?:(\d+(?:[.,]\d+)?)Y)?(?:(\d+(?:[.,]\d+)?)M)?(?:(\d+(?:[.,]\d+)?)W)?(?:(\d+(?:[.,]\d+)?)D)?$/
const ISO_TIME = /^(?:(\d+(?:[.,]\d+)?)H)?(?:(\d+(?:[.,]\d+)?)M)?(?:(\d+(?:[.,]\d+)?)S)?$/
const DATE_UNITS = ['years', 'months', 'weeks', 'days']
const TIME_UNITS = ['hours', 'minutes', 'seconds']

/** One part: the number ends at a letter or a sign, and the unit ends where the next number starts. */
const PART = /^(\d+(?:\.\d+)?) ?([^\d .,][^\d ,]*)(?:,? and |, ?| ?)(?=\d|$)/
const PARTS_MAX = 6
/** Dimensions that are written in parts. In others, parts are unusual (`5 EUR 20 cents`) or mean something else (`4 K 2 C`). */
const IN_PARTS: ReadonlySet<string> = new Set(['time', 'months', 'length', 'mass', 'volume'])
const MINUTES = readUnit('minutes') as Unit

/** Expects a text returned by `plainText`, no longer than a measure. */
export function readIsoDuration(text: string): Quantity | undefined {
  if (!text.startsWith('P')) return undefined
  const at = text.indexOf('T')
  const date = ISO_DATE.exec(at < 0 ? text : text.slice(0, at))
  const time = at < 0 ? [] : ISO_TIME.exec(text.slice(at + 1))
  if (date === null || time === null || at === text.length - 1) return undefined
  return sumOf([...partsOf(date.slice(1), DATE_UNITS), ...partsOf(time.slice(1), TIME_UNITS)])
}

/** Reads a quantity of two or more parts. Expects a text returned by `plainText`, no longer than a measure. */
export function readParts(text: string): Quantity | undefined {
  const found: [number: string, unit: string][] = []
  for (let rest = text; rest !== ''; ) {
    const part = found.length === PARTS_MAX ? null : PART.exec(rest)
    if (part === null) return undefined
    found.push([part[1] ?? '', part[2] ?? ''])
    rest = rest.slice(part[0].length)
  }
  if (found.length < 2) return undefined
  const units = found.map(([, name]) => readUnit(name))
  const isTime = units.some((unit) => unit?.dimension === 'time')
  const parts: Quantity[] = []
  for (const [i, [number, name]] of found.entries()) {
    const unit = isTime && name === 'm' ? MINUTES : units[i]
    if (unit === undefined || (i < found.length - 1 && number.includes('.'))) return undefined
    parts.push({ value: Number(number), unit })
  }
  return parts.every(({ unit }) => IN_PARTS.has(unit.dimension)) ? sumOf(parts) : undefined
}

function partsOf(numbers: readonly (string | undefined)[], names: readonly string[]): Quantity[] {
  return numbers.flatMap((number, i) => {
    const unit = number === undefined ? undefined : readUnit(names[i] ?? '')
    return unit === undefined ? [] : [{ value: Number(number?.replace(',', '.')), unit }]
  })
}

/** The sum in the unit of the last part; undefined if there are no parts, two dimensions, or a unit that is not smaller than the one before. */
function sumOf(parts: readonly Quantity[]): Quantity | undefined {
  const last = parts.at(-1)
  if (last === undefined) return undefined
  let sum = 0
  let above = Number.POSITIVE_INFINITY
  for (const { value, unit } of parts) {
    if (unit.dimension !== last.unit.dimension || unit.factor >= above) return undefined
    above = unit.factor
    sum += value * unit.factor
  }
  return { value: parts.length === 1 ? last.value : sum / last.unit.factor, unit: last.unit }
}

// Whole numbers below one hundred as English words: `six`, `twenty-five`.

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

/** The number word at the start of a text, and the rest of the text after it, which may be empty. */
export function readNumberWord(text: string): { readonly value: number; readonly rest: string } | undefined {
  if (!LETTER.test(text)) return undefined
  const space = text.indexOf(' ')
  const end = space < 0 ? text.length : space
  if (end > WORD_MAX_CHARS) return undefined
  const value = WORDS.get(text.slice(0, end).toLowerCase())
  return value === undefined ? undefined : { value, rest: text.slice(end + 1) }
}
