/** @module Whether a place that is declared to move does so in its kind (JUD-44). */
import { isEqual, type Json } from '../../../../schemas/json.ts'
import { parsePointer, type Token, valueAt } from '../../../../schemas/json-pointer.ts'
import type { Move } from '../../../../schemas/place-policy.ts'
import { isLater, isRising } from '../established/moves.ts'
import type { Here, Walk } from '../established/walk.ts'
import { readScalar, type Scalar } from '../meaning/scalars.ts'
import { keepsProse } from './prose.ts'

type Change = readonly [before: Scalar, after: Scalar]

/** Undefined where nothing is declared of the place, or something stricter is. */
export function keepsKind(walk: Walk, change: Change, here: Here): boolean | undefined {
  const { move, immutable, never } = here.rules
  if (move === undefined || immutable || never) return undefined
  const [a, b] = change
  switch (move.as) {
    case 'free':
    case 'cursor':
    // The invariant that it names is held against the new context as it is.
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

/** Of one type, and where both have a unit, of one that converts. */
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

/** Whether the place that `by` names, with the same members in place of each `*`, has changed as well. */
function hasMovedWith({ path, by }: Move, { documents, place, afterPlace }: Walk): boolean {
  if (by === undefined) return true
  const [was, is] = [bound(by, path, place), bound(by, path, afterPlace)]
  return !isSame(valueAt(documents[0], was), valueAt(documents[1], is))
}

/** `by`, with the tokens that stand at the place where its own path has `*`, in their order. */
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
