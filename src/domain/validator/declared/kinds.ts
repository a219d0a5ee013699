/** @module Checks whether the change of a place that is declared as moving is one of its declared kind (JUD-44). */

import { isEqual, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { parsePointer, type Token, valueAt } from '../../../../schemas/json-pointer.ts'
import type { Move } from '../../../../schemas/place-policy.ts'
import { isLater, isRising } from '../established/moves.ts'
import type { Here, Walk } from '../established/walk.ts'
import { readScalar, type Scalar } from '../meaning/scalars.ts'

type Change = readonly [before: Scalar, after: Scalar]

/** Undefined if the place has no declaration, or a stricter rule. */
export function keepsKind(walk: Walk, change: Change, here: Here): boolean | undefined {
  const { move, immutable, never } = here.rules
  if (move === undefined || immutable || never) return undefined
  const [a, b] = change
  switch (move.as) {
    case 'free':
    case 'cursor':
    // The named invariant is checked on the new context as a whole.
    case 'derived':
      return true
    case 'done':
      return a === false && b === true
    case 'gauge':
      return isSameMeasure(a, b, here) && hasMovedWith(move, walk)
    case 'counter':
      return isMeasured(a) && isMeasured(b) && isRising(a, b, here, true)
    case 'clock':
      return isMeasured(a) && isMeasured(b) && isLater(a, b)
    case 'state':
      return isForward(move.order ?? [], a, b)
    case 'text':
      return typeof a === 'string' && typeof b === 'string' && keepsProse(a, b, walk.documents[0])
    case 'log':
      return false
  }
}

function isMeasured(value: Scalar): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
}

/** Whether both values have one type, and convertible units if both have a unit. */
function isSameMeasure(a: Scalar, b: Scalar, { kind }: Here): boolean {
  if (!isMeasured(a) || !isMeasured(b)) return typeof a === typeof b
  const [before, after] = [readScalar(a, kind), readScalar(b, kind)]
  if (before.kind !== after.kind) return false
  return (
    before.kind !== 'quantity' ||
    after.kind !== 'quantity' ||
    before.quantity.unit.dimension === after.quantity.unit.dimension
  )
}

/** Whether the place named by `by` has changed too, with its `*` bound to the same members. */
function hasMovedWith({ path, by }: Move, { documents, place, afterPlace }: Walk): boolean {
  if (by === undefined) return true
  const [was, is] = [bound(by, path, place), bound(by, path, afterPlace)]
  return !isSame(valueAt(documents[0], was), valueAt(documents[1], is))
}

/** `by` with each `*` replaced, in order, by the token that is at a `*` of the move's own path. */
function bound(by: string, path: string, place: readonly Token[]): readonly string[] {
  const members = (parsePointer(path) ?? []).flatMap((token, i) => (token === '*' ? [`${place[i]}`] : []))
  return (parsePointer(by) ?? []).map((token) => (token === '*' ? (members.shift() ?? token) : token))
}

function isSame(a: Json | undefined, b: Json | undefined): boolean {
  return a === undefined || b === undefined ? a === b : isEqual(a, b)
}

function isForward(order: readonly string[], a: Scalar, b: Scalar): boolean {
  const [before, after] = [order.indexOf(`${a}`), order.indexOf(`${b}`)]
  return before >= 0 && after >= before
}

// Kind `text` of JUD-44: whether a rewritten text still contains the values of its context and has the same number of negations.

/** Maximum number of values of a context that are looked up in a text. */
const VALUES_MAX = 20_000
/** Minimum length of a value that is specific enough: an id, a name, or a number with two digits. */
const VALUE_MIN_CHARS = 2

const NEGATION = /(?:^|[^\p{L}])(?:not|no|never|none|neither|nor|cannot|without|\p{L}+n[’']t)(?![\p{L}])/giu
const WORD = /[\p{L}\p{N}]+/gu
const WORD_PART = /[\p{L}\p{N}]/u

interface Value {
  readonly text: string
  readonly firstWord: string
}

const known = new WeakMap<JsonObject, readonly Value[]>()

/** `context` is the established context, which contains the text itself. */
function keepsProse(before: string, after: string, context: JsonObject): boolean {
  if ((before.match(NEGATION)?.length ?? 0) !== (after.match(NEGATION)?.length ?? 0)) return false
  const words = new Set(before.match(WORD))
  const values = known.get(context) ?? valuesIn(context)
  known.set(context, values)
  return values.every(
    ({ text, firstWord }) => !words.has(firstWord) || text === before || !says(before, text) || says(after, text),
  )
}

/** Distinct numbers and texts of a context. */
function valuesIn(context: JsonObject): readonly Value[] {
  const texts = new Set<string>()
  const waiting: Json[] = [context]
  for (let value = waiting.pop(); value !== undefined && texts.size < VALUES_MAX; value = waiting.pop()) {
    if (typeof value === 'object' && value !== null)
      for (const member of Object.values(value)) waiting.push(member as Json)
    else if (typeof value === 'string' || typeof value === 'number') texts.add(`${value}`)
  }
  return [...texts].flatMap((text) => {
    const firstWord = text.length < VALUE_MIN_CHARS ? undefined : text.match(WORD)?.[0]
    return firstWord === undefined ? [] : [{ text, firstWord }]
  })
}

/** Whether the text contains the value as whole words. */
function says(prose: string, value: string): boolean {
  for (let at = prose.indexOf(value); at >= 0; at = prose.indexOf(value, at + 1)) {
    if (!WORD_PART.test(prose[at - 1] ?? ' ') && !WORD_PART.test(prose[at + value.length] ?? ' ')) return true
  }
  return false
}
