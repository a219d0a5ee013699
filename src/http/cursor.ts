/**
 * @module Opaque cursors: a place in the history, by position *and* event id (STR-29, HTTP-5). They are sealed under the ledger's ring: positions count the
 * events of all tenants, so a caller must be able neither to read nor to forge a cursor.
 */

import { type Json, parseJson } from '../../schemas/json.ts'
import type { SealedPlaces } from '../ledger/ledger.ts'
import { problem } from './problems.ts'

/** The tenant and the query that a cursor belongs to: any value that can be printed as JSON. */
export type CursorScope = readonly unknown[]

const CURSOR_MAX_CHARS = 2_048
/** Positions are padded to this length, which fits every store, so that the length of a cursor does not reveal the length of its position. */
const POSITION_CHARS = 48

export const notACursor = problem('invalid-cursor', 'this is no cursor of this list with these filters')

/** Seals a place. `scope` (tenant and query) is authenticated, but not contained in the cursor. */
export function encodeCursor(places: SealedPlaces, scope: CursorScope, place: readonly Json[]): string {
  return places.seal(JSON.stringify(scope), JSON.stringify(place))
}

/** The place; undefined if the text is not a cursor of this scope. */
export function decodeCursor(places: SealedPlaces, scope: CursorScope, cursor: string): readonly Json[] | undefined {
  const text = cursor.length <= CURSOR_MAX_CHARS ? places.open(JSON.stringify(scope), cursor) : undefined
  return text === undefined ? undefined : (parseJson(text) as readonly Json[])
}

export function paddedPosition(position: string): string {
  return position.padEnd(POSITION_CHARS)
}
