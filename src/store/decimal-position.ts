/** @module Positions of stores that number their records: the decimal text of a positive integer, without sign, leading zero or blank. */
import type { Position } from './event-store.ts'

const DECIMAL = /^[1-9]\d{0,15}$/

/** Throws `TypeError` for text that is not a position. */
export function parsePosition(position: Position): number {
  const value = typeof position === 'string' && DECIMAL.test(position) ? Number(position) : Number.NaN
  if (!Number.isSafeInteger(value)) throw new TypeError('not a position of this store')
  return value
}

export function compareDecimalPositions(a: Position, b: Position): number {
  return parsePosition(a) - parsePosition(b)
}
