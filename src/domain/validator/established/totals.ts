/** @module Rule `total-disagrees`: a new number is named as a count, sum or product of established siblings, but differs from it. */
import { keyWords, singular } from '../../../../projections/key-words.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { formatPointer, holderAt, valueAt } from '../../../../schemas/json-pointer.ts'
import type { Pauses, Yielding } from '../../yielding.ts'
import { isSameNumber, readNumber } from '../meaning/numbers.ts'
import { addFinding, type Report } from '../report.ts'
import type { Gain } from './changes.ts'

export interface TotalsInput {
  readonly before: JsonObject
  readonly after: JsonObject
  readonly gains: readonly Gain[]
}

const COUNTS: ReadonlySet<string> = new Set(['count', 'number', 'num', 'of'])
const SUMS: ReadonlySet<string> = new Set(['total', 'sum', 'subtotal', 'of', 'in'])
/** Words for an action, with the noun of its record: `paid_total` is the total of `payments`. */
const NOUNS: ReadonlyMap<string, string> = new Map([
  ['paid', 'payment'],
  ['refunded', 'refund'],
  ['charged', 'charge'],
  ['invoiced', 'invoice'],
  ['billed', 'bill'],
  ['ordered', 'order'],
  ['spent', 'expense'],
])
const RECORDS: ReadonlySet<string> = new Set(['history', 'log', 'list', 'records', 'entries'])
const AMOUNT = 'amount'
const BASES: readonly string[] = ['basis', 'formula', 'calculation', 'derivation', 'computed_as']
const BASIS_MAX_CHARS = 128
const ARTICLES: ReadonlySet<string> = new Set(['the', 'all', 'of', 'its', 'their', 'each'])
/** Keys of adjustments: a product is a line's total only if nothing is deducted or added. */
const ADJUSTMENTS = /discount|tax|vat|fee|rebate|surcharge|shipping|tip/
const QUANTITIES = ['qty', 'quantity', 'pieces', 'units']
const UNIT_PRICES = ['unit_price', 'unitPrice', 'unit_cost', 'price_per_unit', 'price_each']
const LINE_TOTALS: ReadonlySet<string> = new Set([
  'line total',
  'total',
  'subtotal',
  'item total',
  'total price',
  'line amount',
  'line sum',
])
/** Maximum number of totals checked per handoff, and of members read per list or object; the work is bounded by their product. */
const STATED_MAX = 32
const MEMBERS_MAX = 2000
/** Steps per total that is checked. */
const TOTAL_STEPS = 500
/** Rounding unit of an amount. */
const CENT = 0.01

export function* checkTotals({ before, after, gains }: TotalsInput, report: Report, pauses: Pauses): Yielding<void> {
  let looked = 0
  const known: KnownLists = { named: new Map(), sums: new Map() }
  for (const { place, value } of gains) {
    const stated = numberOf(value)
    const key = place.at(-1)
    if (stated === undefined || typeof key !== 'string' || !(saysTotal(key) || basisOf(value) !== undefined)) continue
    if (++looked > STATED_MAX) return
    const around = holderAt(after, place)
    if (around === undefined || Object.keys(around).length > MEMBERS_MAX) continue
    pauses.count(TOTAL_STEPS + 2 * Object.keys(around).length)
    if (pauses.due()) yield
    const beside: Beside = {
      around,
      known,
      // If list members have moved, a place with list indexes may have no established value; there is no finding then.
      isEstablished: (name) => valueAt(before, [...place.slice(0, -1), name]) !== undefined,
    }
    const expected = expectedTotal(keyWords(key), beside) ?? sumOf(basisOf(value) ?? [], beside)
    if (expected === undefined || isSameNumber(stated, expected) || Math.abs(stated - expected) < CENT / 2) continue
    addFinding(report, {
      rule: 'total-disagrees',
      severity: 'error',
      path: formatPointer(place),
      before: expected,
      after: stated,
      message: `what is established beside it gives ${expected}`,
    })
  }
}

const TOTAL_WORDS: ReadonlySet<string> = new Set(['count', 'number', 'num', 'total', 'sum', 'subtotal', 'amount'])

function saysTotal(key: string): boolean {
  return keyWords(key).some((word) => TOTAL_WORDS.has(word))
}

interface KnownLists {
  /** Keys of the lists in an object, by object and name. */
  readonly named: Map<JsonObject, ReadonlyMap<string, readonly string[]>>
  /** Sums over the members of a list, by list and field name; undefined if a member has no number in that field. */
  readonly sums: Map<readonly Json[], Map<string, number | undefined>>
}

interface Beside {
  readonly around: JsonObject
  readonly known: KnownLists
  readonly isEstablished: (name: string) => boolean
}

function expectedTotal(words: readonly string[], beside: Beside): number | undefined {
  return lineTotal(words, beside) ?? countOf(words, beside) ?? sumOf(words, beside)
}

function lineTotal(words: readonly string[], { around, isEstablished }: Beside): number | undefined {
  if (!LINE_TOTALS.has(words.join(' ')) || Object.keys(around).some((key) => ADJUSTMENTS.test(key))) return undefined
  const [quantityKey, priceKey] = [QUANTITIES, UNIT_PRICES].map((names) =>
    names.find((name) => Object.hasOwn(around, name)),
  )
  if (quantityKey === undefined || priceKey === undefined || !isEstablished(quantityKey) || !isEstablished(priceKey))
    return undefined
  const [quantity, price] = [numberOf(around[quantityKey]), numberOf(around[priceKey])]
  return quantity === undefined || price === undefined ? undefined : Math.round(quantity * price * 1e6) / 1e6
}

/** `passenger_count` or `number_of_passengers`, with a sibling list `passengers`. */
function countOf(words: readonly string[], beside: Beside): number | undefined {
  if (!words.includes('count') && words[0] !== 'number' && words[0] !== 'num') return undefined
  return listNamed(
    words.filter((word) => !COUNTS.has(word)),
    beside,
  )?.list.length
}

/** `invoices_total_gross`, with a sibling list `invoices` whose members all have a `gross`. */
function sumOf(words: readonly string[], beside: Beside): number | undefined {
  if (!words.some((word) => word === 'total' || word === 'sum')) return undefined
  const rest = words.filter((word) => !SUMS.has(word)).map((word) => NOUNS.get(word) ?? word)
  const whole = sumIn(rest, AMOUNT, beside)
  if (whole !== undefined) return whole
  for (let split = 1; split < rest.length; split++) {
    const total =
      sumIn(rest.slice(0, split), rest.slice(split).join(' '), beside) ??
      sumIn(rest.slice(split), rest.slice(0, split).join(' '), beside)
    if (total !== undefined) return total
  }
  return undefined
}

/** The sum of a field over all members of the list with the given name. */
function sumIn(listWords: readonly string[], field: string, beside: Beside): number | undefined {
  const list = listWords.length === 0 ? undefined : listNamed(listWords, beside)?.list
  if (list === undefined || list.length === 0 || list.length > MEMBERS_MAX) return undefined
  const sums = beside.known.sums.get(list) ?? new Map<string, number | undefined>()
  beside.known.sums.set(list, sums)
  const name = singularName(field)
  if (!sums.has(name)) sums.set(name, sumOfField(list, name))
  return sums.get(name)
}

function sumOfField(list: readonly Json[], name: string): number | undefined {
  let total = 0
  for (const member of list) {
    if (!isJsonObject(member)) return undefined
    const key = Object.keys(member).find((each) => nameOf(keyWords(each)) === name)
    const value = key === undefined ? undefined : numberOf(member[key])
    if (value === undefined) return undefined
    total += value
  }
  return Math.round(total * 1e6) / 1e6
}

function listNamed(
  words: readonly string[],
  { around, known, isEstablished }: Beside,
): { readonly list: readonly Json[] } | undefined {
  const named = known.named.get(around) ?? listNames(around)
  known.named.set(around, named)
  const key = named.get(nameOf(words))?.find(isEstablished)
  return key === undefined ? undefined : { list: around[key] as readonly Json[] }
}

function listNames(around: JsonObject): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>()
  for (const key of Object.keys(around)) {
    if (!Array.isArray(around[key])) continue
    const name = nameOf(keyWords(key).filter((word) => !RECORDS.has(word)))
    const keys = names.get(name)
    if (keys === undefined) names.set(name, [key])
    else keys.push(key)
  }
  return names
}

function nameOf(words: readonly string[]): string {
  return words.map(singular).join(' ')
}

function singularName(name: string): string {
  return nameOf(name.split(' '))
}

/** The words after "sum of" in a value's own description of its calculation. */
function basisOf(value: Json): readonly string[] | undefined {
  if (value === null || !isJsonObject(value)) return undefined
  for (const key of BASES) {
    const text = Object.hasOwn(value, key) ? value[key] : undefined
    const match =
      typeof text === 'string' && text.length <= BASIS_MAX_CHARS ? /^(?:sum|total) of ([a-z ]+)$/i.exec(text) : null
    if (match !== null) return ['sum', ...keyWords(match[1] ?? '').filter((word) => !ARTICLES.has(word))]
  }
  return undefined
}

/** The value as a number: a number, a number in a text, or the number of `{value, unit}`. */
function numberOf(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value === 'string') return readNumber(value)
  if (value === undefined || value === null || !isJsonObject(value)) return undefined
  const inner = Object.hasOwn(value, 'value') ? value.value : undefined
  return typeof inner === 'number' ? inner : undefined
}
