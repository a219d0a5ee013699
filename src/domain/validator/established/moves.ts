/** @module Changes that count as progress: a state that moves forward, a clock or counter that rises, a value within its tolerance. */

import { plainText } from '../../../../projections/plain-text.ts'
import { readTime } from '../meaning/dates.ts'
import { baseValue } from '../meaning/quantities.ts'
import { isClockKey, isCounterKey } from '../meaning/rising.ts'
import { readScalar, type Scalar } from '../meaning/scalars.ts'
import { canonicalState, isInterruption, isStateKey, mayFollow } from '../meaning/states.ts'
import type { Here } from './walk.ts'

export function mayMove(a: Scalar, b: Scalar, here: Here): boolean {
  if (a === null || b === null || typeof a === 'boolean' || typeof b === 'boolean') return false
  const { monotonic, tolerance, immutable } = here.rules
  if (immutable) return false
  if (monotonic !== undefined) return isRising(a, b, here, monotonic === 'up')
  if (tolerance !== undefined && isWithin(a, b, here)) return true
  const { words } = here.kind
  if (typeof a === 'string' && typeof b === 'string' && mayFollow(a, b, isStateKey(words))) return true
  if (isClockKey(words) && isLater(a, b)) return true
  return isCounterKey(words) && isRising(a, b, here, true)
}

/** Whether a step between two state words would be a return, provided the run had left the second word before. */
export function isReturn(a: Scalar, b: Scalar, { kind, rules }: Here): boolean {
  if (typeof a !== 'string' || typeof b !== 'string' || rules.monotonic !== undefined) return false
  return isStateKey(kind.words) && canonicalState(a) !== canonicalState(b) && !isInterruption(a) && !isInterruption(b)
}

export function isLater(a: string | number, b: string | number): boolean {
  const [before, after] = [timeOf(a), timeOf(b)]
  return before !== undefined && after?.kind === before.kind && after.ms > before.ms
}

/** A number counts as a time in its own unit. */
function timeOf(value: string | number): { readonly kind: string; readonly ms: number } | undefined {
  return typeof value === 'number' ? { kind: 'number', ms: value } : readTime(plainText(value))
}

export function isRising(a: string | number, b: string | number, here: Here, up: boolean): boolean {
  if (typeof a === 'string' && typeof b === 'string' && isLater(up ? a : b, up ? b : a)) return true
  const [before, after] = [numberOf(a, here), numberOf(b, here)]
  return before !== undefined && after !== undefined && (up ? after > before : after < before)
}

function isWithin(a: string | number, b: string | number, here: Here): boolean {
  const [before, after] = [numberOf(a, here), numberOf(b, here)]
  if (before === undefined || after === undefined) return false
  const { absolute = 0, relative = 0 } = here.rules.tolerance ?? {}
  return Math.abs(after - before) <= Math.max(absolute, relative * Math.abs(before))
}

function numberOf(value: string | number, { kind }: Here): number | undefined {
  const reading = readScalar(value, kind)
  if (reading.kind === 'number') return reading.value
  return reading.kind === 'quantity' ? baseValue(reading.quantity) : undefined
}
