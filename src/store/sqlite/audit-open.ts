/** @module What is open in the auditors' index: claims, reservations and failed compensations that no later event ends. */
import { type EventType, typesThat } from '../../../schemas/events.ts'
import type { AuditFilter, AuditView } from '../audit-index.ts'
import { type Conditions, conditionsOf } from './audit-rows.ts'

export const CLAIMS = typesThat(({ changes }) => changes.call === 'claimed')
export const RESERVATIONS = typesThat(({ changes }) => changes.reservation === 'open')
const UNDOINGS = typesThat(({ changes }) => changes.undoing !== undefined)
/** Undoings that leave the effect where it is, as far as anybody knows. */
export const UNDONE_NOT = typesThat(({ changes }) => changes.undoing !== undefined && changes.undoing !== 'succeeded')
const CALL_ENDS = typesThat(({ changes }) => changes.call === 'settled')
const RESERVATION_ENDS = typesThat(
  ({ changes }) => changes.reservation === 'settled' || changes.reservation === 'released',
)
const RESOLVES = 'ToolCallResolved' satisfies EventType

/** The names of types are the catalogue's own, and no text of anybody's. */
export const listOf = (types: readonly EventType[]): string => `(${types.map((type) => `'${type}'`).join(', ')})`

/** What ends a claim, a reservation, a failed compensation; `o` is the later event. A new claim of the call ends the one before. */
const NOT_FOLLOWED = {
  call: `NOT EXISTS (SELECT 1 FROM events o WHERE o.tenant = e.tenant AND o.call = e.call AND o.stream = e.stream AND o.leaf > e.leaf AND o.leaf < ?
    AND o.type IN ${listOf([...CLAIMS, ...CALL_ENDS])})`,
  reservation: `NOT EXISTS (SELECT 1 FROM events o WHERE o.tenant = e.tenant AND o.reservation = e.reservation AND o.stream = e.stream
    AND o.leaf > e.leaf AND o.leaf < ? AND o.type IN ${listOf(RESERVATION_ENDS)})`,
  compensation: `NOT EXISTS (SELECT 1 FROM events o WHERE o.tenant = e.tenant AND o.compensates = e.compensates AND o.stream = e.stream
    AND o.leaf > e.leaf AND o.leaf < ? AND o.type IN ${listOf(UNDOINGS)})
    AND NOT EXISTS (SELECT 1 FROM events o WHERE o.tenant = e.tenant AND o.call IN (e.call, e.compensates) AND o.stream = e.stream
    AND o.leaf > e.leaf AND o.leaf < ? AND o.type = '${RESOLVES}')`,
} as const

/** What fits the filter, and no later event of the view ends. */
export function notFollowed(view: AuditView, filter: AuditFilter, by: keyof typeof NOT_FOLLOWED): Conditions {
  const { sql, values } = conditionsOf(view, filter)
  const sizes = NOT_FOLLOWED[by].split('?').slice(1)
  return { sql: `${sql} AND ${NOT_FOLLOWED[by]}`, values: [...values, ...sizes.map(() => view.size)] }
}
