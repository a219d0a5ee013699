/** @module Finds places in redaction rules that can match nothing: a value meant by such a place would be recorded in clear text unnoticed (LIFE-11). */
import { parsePointer } from '../../../schemas/json-pointer.ts'
import type { RedactionInForce } from '../../../schemas/redaction.ts'
import { COMMAND_MEMBERS, type Members } from './command-members.ts'

/** A place in an event that holds a value of the caller; `*` matches each member of a list. An `open` place may have any members below it. */
interface ValuePlace {
  readonly path: readonly string[]
  readonly open: boolean
}

const VALUE_PLACES: readonly ValuePlace[] = [
  ...new Map(
    Object.values<Members>(COMMAND_MEMBERS)
      .flatMap(({ values }) => values)
      .map(({ path, as = path, form }): [string, ValuePlace] => [as.join('/'), { path: as, open: form !== 'text' }]),
  ).values(),
]
const WHOLE = '/input, /args, /result, /payload, /output'

export interface PlaceFault {
  /** Index of the rule, and of the place in its `at`. */
  readonly rule: number
  readonly place: number
  readonly message: string
}

/** The first place that matches no value of any request, with a suggestion; undefined if each place can match one. */
export function placeFault(rules: RedactionInForce): PlaceFault | undefined {
  for (const [rule, { at = [] }] of rules.entries()) {
    for (const [place, written] of at.entries()) {
      const tokens = (parsePointer(written) ?? []).filter((token, i, all) => token !== '**' || all[i - 1] !== '**')
      if (VALUE_PLACES.some((value) => meets(tokens, value))) continue
      return { rule, place, message: `${written} matches no value of any request: ${instead(written, tokens)}` }
    }
  }
  return undefined
}

/** Whether the place covers the value, a part of it, or a container of it. */
function meets(place: readonly string[], { path, open }: ValuePlace): boolean {
  const [token, ...rest] = place
  if (token === undefined) return true
  const [name, ...below] = path
  if (token === '**') return meets(rest, { path, open }) || (name !== undefined && meets(place, { path: below, open }))
  if (name === undefined) return open
  const fits = token === '*' || token === name || (name === '*' && /^\d+$/.test(token))
  return fits && meets(rest, { path: below, open })
}

function instead(written: string, [first = '', ...rest]: readonly string[]): string {
  const known = VALUE_PLACES.filter(({ path }) => path[0] === first).map(({ path }) => `/${path.join('/')}`)
  if (known.length > 0) return `values are at ${known.sort().join(', ')}`
  const near = VALUE_PLACES.find(({ path, open }) => open && path.length === 1 && isNear(first, path[0] ?? ''))?.path[0]
  const tail = written.slice(written.indexOf('/', 1))
  if (near !== undefined && rest.length > 0) return `write /${near}${tail}`
  if (near !== undefined) return `write /${near}`
  return `a place begins with a member of an event's body (${WHOLE}): write /*${written} for all of them, or /**${written} at any depth`
}

/** Whether the names are equal in lower case, or differ only in a plural `s`. */
function isNear(a: string, b: string): boolean {
  return a.toLowerCase() === b || `${a.toLowerCase()}s` === b || a.toLowerCase() === `${b}s`
}
