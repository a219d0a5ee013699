/** @module Positions in `$all` as text: commit and prepare position in decimal, separated by a slash. */
import type { Position as AllPosition } from '@eventstore/db-client'
import type { Position } from '../event-store.ts'

const FORM = /^(0|[1-9]\d{0,19})\/(0|[1-9]\d{0,19})$/

export function positionText({ commit, prepare }: AllPosition): Position {
  return `${commit}/${prepare}`
}

/** Throws `TypeError` for text that is not a position. */
export function parseAllPosition(position: Position): AllPosition {
  const [, commit, prepare] = (typeof position === 'string' && FORM.exec(position)) || []
  if (commit === undefined || prepare === undefined) throw new TypeError('not a position of this store')
  return { commit: BigInt(commit), prepare: BigInt(prepare) }
}

export function compareAllPositions(a: AllPosition, b: AllPosition): number {
  const difference = a.commit - b.commit || a.prepare - b.prepare
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}
