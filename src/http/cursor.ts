/**
 * @module Opaque cursors: a place in the history, by position *and* event id (STR-29, HTTP-5). They are sealed under the ledger's ring:
 * positions count the events of all tenants, and a caller can neither read one nor make one up.
 */

import { type Json, parseJson } from '../../schemas/json.ts'
import type { SealedPlaces } from '../ledger/ledger.ts'

/** Whose cursor it is, and of which query: anything that prints as JSON. */
export type CursorScope = readonly unknown[]

const CURSOR_MAX_CHARS = 2_048
/** Room for a position of any store: a longer one must not make a longer cursor. */
const POSITION_CHARS = 48

/** `scope` says whose cursor it is and of which query: it is checked, not carried. */
export function encodeCursor(places: SealedPlaces, scope: CursorScope, place: readonly Json[]): string {
  return places.seal(JSON.stringify(scope), JSON.stringify(place))
}

/** The place; undefined for text that is no cursor of this scope. */
export function decodeCursor(places: SealedPlaces, scope: CursorScope, cursor: string): readonly Json[] | undefined {
  const text = cursor.length <= CURSOR_MAX_CHARS ? places.open(JSON.stringify(scope), cursor) : undefined
  return text === undefined ? undefined : (parseJson(text) as readonly Json[])
}

export function paddedPosition(position: string): string {
  return position.padEnd(POSITION_CHARS)
}
