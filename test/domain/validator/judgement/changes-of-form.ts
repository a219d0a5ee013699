/** @module The same context said in other words (section "Equal in meaning"), and the same context with one leaf that says something else. */
import { keyWords } from '../../../../projections/key-words.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'

type Random = () => number

const UNORDERED =
  /^(?:allergies|prescriptions|parcels|constraints|collateral|rules|dependants|requirements|hosts|students|prerequisites|travellers|parties|exhibits|entities|trainings|deadlines|tasks|actions)$/
const MONTHS = 'January February March April May June July August September October November December'.split(' ')

/** Says everything anew, each part in a form taken at random from those that mean the same. */
export function inOtherWords(value: Json, random: Random, key = ''): Json {
  if (typeof value === 'string') return textInOtherWords(value, random, key)
  if (typeof value === 'number') return numberInOtherWords(value, random)
  if (Array.isArray(value)) {
    const members = value.map((member) => inOtherWords(member as Json, random, key))
    return UNORDERED.test(key) ? shuffled(members, random) : members
  }
  if (!isJsonObject(value)) return value
  const entries = Object.entries(withQuantity(value, random)).map(([name, member]): [string, Json] => [
    name,
    member === null && random() < 0.3 ? 'known now' : inOtherWords(member, random, name),
  ])
  if (random() < 0.2) entries.push([`extra_${Math.floor(random() * 1e6)}`, random() < 0.5 ? [1, 2] : { seen: true }])
  return Object.fromEntries(shuffled(entries, random).filter(([, member]) => member !== null || random() < 0.5))
}

function textInOtherWords(text: string, random: Random, key: string): string {
  const date = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (date !== null && random() < 0.7) return dateInOtherWords(date, random)
  if (/^\d{4}-\d{2}-\d{2}T[\d:]+(?:Z|[+-]\d{2}:\d{2})$/.test(text) && random() < 0.7) {
    return new Date(text).toISOString().replace('.000Z', random() < 0.5 ? 'Z' : '+00:00')
  }
  let said = text
  if (random() < 0.3) said = said.normalize('NFD')
  if (random() < 0.3) said = said.replaceAll(' ', random() < 0.5 ? '\u00a0' : '  ')
  if (random() < 0.2) said = ` ${said}\n`
  if (random() < 0.2 && /^[a-z ]+$/.test(text) && !/unit|currency|dose/.test(key)) said = said.toUpperCase()
  return said
}

function dateInOtherWords([, year = '', month = '', day = '']: RegExpExecArray, random: Random): string {
  const name = MONTHS[Number(month) - 1] ?? ''
  const forms = [
    `${day}.${month}.${year}`,
    `${Number(day)} ${name} ${year}`,
    `${name} ${Number(day)}, ${year}`,
    `${Number(day)} ${name.slice(0, 3)} ${year}`,
  ]
  return forms[Math.floor(random() * forms.length)] ?? ''
}

function numberInOtherWords(value: number, random: Random): number {
  return Number.isInteger(value) || random() < 0.5 ? value : value * (1 + 1e-13)
}

function withQuantity(value: JsonObject, random: Random): JsonObject {
  if (value.unit === 'kg' && typeof value.value === 'number' && random() < 0.5) {
    return { ...value, value: value.value * 1000, unit: 'g' }
  }
  return value
}

export function shuffled<T>(list: readonly T[], random: Random): T[] {
  return list
    .map((member) => [random(), member] as const)
    .sort(([a], [b]) => a - b)
    .map(([, member]) => member)
}

const FREE = /^(?:summary|notes|outline|draft|messages|next_step|analysis)$/
const MOVING = /status|state|stage|_at$|attempts|retries|required/

/** Paths of the leaves whose change must be noticed. */
export function judgedLeaves(value: Json, path: readonly (string | number)[] = []): (string | number)[][] {
  if (Array.isArray(value)) return value.flatMap((member, i) => judgedLeaves(member as Json, [...path, i]))
  if (isJsonObject(value)) {
    return Object.keys(value).flatMap((key) =>
      (path.length === 0 && FREE.test(key)) || MOVING.test(key) ? [] : judgedLeaves(value[key] as Json, [...path, key]),
    )
  }
  return value === null || value === '' ? [] : [[...path]]
}

/** The context with another value at one leaf. */
export function withOther(context: JsonObject, path: readonly (string | number)[], random: Random): JsonObject {
  const copy = structuredClone(context) as JsonObject
  let parent = copy as unknown as Record<string | number, Json>
  for (const token of path.slice(0, -1)) parent = parent[token] as unknown as Record<string | number, Json>
  const last = path.at(-1) as string | number
  parent[last] = other(parent[last] as Json, random, keyWords(`${last}`))
  return copy
}

function other(value: Json, random: Random, words: readonly string[]): Json {
  if (typeof value === 'boolean') return !value
  if (typeof value === 'number') return random() < 0.5 ? value + 1 : value * 10 + 3
  const text = value as string
  if (words.includes('unit') || words.includes('currency')) return `${text}x`
  const forms = [
    `${text} not`,
    `${text}7`,
    `x${text}`,
    `${text}\u200b`,
    '',
    text.replace(/[a-zA-Z0-9]/, (c) => (c === 'q' ? 'w' : 'q')),
  ]
  return forms[Math.floor(random() * forms.length)] ?? ''
}
