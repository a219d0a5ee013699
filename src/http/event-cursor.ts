/** @module Cursors over events, and the check of a returned cursor: it names the same event, another event, or is not a cursor at all. */
import { randomBytes } from 'node:crypto'
import type { Caller, Ledger, SealedPlaces } from '../ledger/ledger.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import type { Position } from '../store/event-store.ts'
import { type CursorScope, decodeCursor, encodeCursor, paddedPosition } from './cursor.ts'

/** The place of an event. `until` pins the end of a listing, so that all its pages are one snapshot. */
export interface EventPlace {
  readonly position: Position
  readonly id: string
  readonly until?: Position
}

export type JudgedCursor =
  | { readonly kind: 'place'; readonly place: EventPlace; readonly event: LedgerEvent }
  /** Before the first event. */
  | { readonly kind: 'start' }
  /** Not a cursor of this scope. */
  | { readonly kind: 'invalid' }
  /** A valid cursor, but another event is now at its place. */
  | { readonly kind: 'gone' }

/** A cursor before the first event; a tail sends it to its reader first. */
export function startCursor(places: SealedPlaces, scope: CursorScope): string {
  return encodeCursor(places, scope, [])
}

/**
 * Without an end, an event always has the same cursor. With an end, the cursor is salted: the end of the store depends on other tenants, and equal cursors
 * would reveal that they wrote nothing.
 */
export function eventCursor(places: SealedPlaces, scope: CursorScope, { position, id, until }: EventPlace): string {
  const place = [paddedPosition(position), id]
  return encodeCursor(places, scope, until === undefined ? place : [...place, paddedPosition(until), cursorSalt()])
}

export function cursorSalt(): string {
  return randomBytes(SALT_BYTES).toString('base64url')
}

const SALT_BYTES = 12

export async function judgeCursor(
  ledger: Pick<Ledger, 'eventAt' | 'comparePositions' | 'places'>,
  caller: Caller,
  inputs: { readonly scope: CursorScope; readonly cursor: string },
): Promise<JudgedCursor> {
  const [positionText, id, untilText] = decodeCursor(ledger.places, inputs.scope, inputs.cursor) ?? [null]
  if (positionText === undefined) return { kind: 'start' }
  if (typeof positionText !== 'string' || typeof id !== 'string') return { kind: 'invalid' }
  const position = positionText.trimEnd()
  const until = typeof untilText === 'string' ? untilText.trimEnd() : undefined
  if (until !== undefined && !isPosition(ledger, until)) return { kind: 'gone' }

  const event = await eventAt(ledger, caller, position)
  if (event?.header.id !== id) return { kind: 'gone' }
  return { kind: 'place', place: { position, id, ...(until === undefined ? {} : { until }) }, event }
}

/** Whether the text is a position of this store; a position of another store is not, for example after a copy. */
export function isPosition(ledger: Pick<Ledger, 'comparePositions'>, position: Position): boolean {
  try {
    return ledger.comparePositions(position, position) === 0
  } catch (error) {
    if (error instanceof TypeError) return false
    throw error
  }
}

/** The event at a position. A store throws `TypeError` for text that is not one of its positions: then the cursor is from another store. */
async function eventAt(
  ledger: Pick<Ledger, 'eventAt'>,
  caller: Caller,
  position: Position,
): Promise<LedgerEvent | undefined> {
  try {
    return await ledger.eventAt(caller, position)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}
