/** @module Cursors over events, and the judgement of one that comes back: still the same event, another one, or no cursor at all. */
import type { Caller, Ledger, LedgerEvent } from '../ledger/ledger.ts'
import type { Position } from '../store/event-store.ts'
import { type CursorScope, decodeCursor, encodeCursor } from './cursor.ts'

/** An event's place. `until` pins the end of a listing, so that all its pages are one snapshot. */
export interface EventPlace {
  readonly position: Position
  readonly id: string
  readonly until?: Position
}

export type JudgedCursor =
  | { readonly kind: 'place'; readonly place: EventPlace; readonly event: LedgerEvent }
  /** Before the first event. */
  | { readonly kind: 'start' }
  /** No cursor of this scope. */
  | { readonly kind: 'invalid' }
  /** It was one; the event there is another now. */
  | { readonly kind: 'gone' }

/** Resumes before the first event: what a tail primes its reader with. */
export function startCursor(scope: CursorScope): string {
  return encodeCursor(scope, [])
}

export function eventCursor(scope: CursorScope, { position, id, until }: EventPlace): string {
  return encodeCursor(scope, until === undefined ? [position, id] : [position, id, until])
}

export async function judgeCursor(
  ledger: Pick<Ledger, 'eventAt' | 'comparePositions'>,
  caller: Caller,
  given: { readonly scope: CursorScope; readonly cursor: string },
): Promise<JudgedCursor> {
  const [position, id, until, ...rest] = decodeCursor(given.scope, given.cursor) ?? [null]
  if (position === undefined) return { kind: 'start' }
  if (typeof position !== 'string' || typeof id !== 'string' || rest.length > 0) return { kind: 'invalid' }
  if (until !== undefined && typeof until !== 'string') return { kind: 'invalid' }
  if (!POSITION.test(position) || !POSITION.test(until ?? position)) return { kind: 'invalid' }
  if (until !== undefined && !isPosition(ledger, until)) return { kind: 'gone' }

  const event = await eventAt(ledger, caller, position)
  if (event?.header.id !== id) return { kind: 'gone' }
  return { kind: 'place', place: { position, id, ...(until === undefined ? {} : { until }) }, event }
}

/** What a position of any store looks like: anything else was never in a cursor of ours. */
const POSITION = /^[\w./:-]{1,64}$/

/** Whether it is a position of this store; another store's is not, such as after a copy. */
export function isPosition(ledger: Pick<Ledger, 'comparePositions'>, position: Position): boolean {
  try {
    return ledger.comparePositions(position, position) === 0
  } catch (error) {
    if (error instanceof TypeError) return false
    throw error
  }
}

/** Stores throw `TypeError` for text that is no position of theirs: the cursor is another store's. */
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
