/** @module Positions of the stores that count: the decimal text of a positive integer, without sign, zero in front or blank. */
import type { Position } from './event-store.ts'

const DECIMAL = /^[1-9]\d{0,15}$/

/** Throws `TypeError` for text that is no position. */
export function parsePosition(position: Position): number {
  const value = typeof position === 'string' && DECIMAL.test(position) ? Number(position) : Number.NaN
  if (!Number.isSafeInteger(value)) throw new TypeError('not a position of this store')
  return value
}

export function compareDecimalPositions(a: Position, b: Position): number {
  return parsePosition(a) - parsePosition(b)
}
