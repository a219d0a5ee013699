/** @module Queries for open items in the auditors' index: claims, reservations and failed compensations that no later event ends. */
import { type EventType, typesThat } from '../../../schemas/events.ts'
import type { AuditFilter, AuditView } from '../audit-index.ts'
import { type Conditions, conditionsOf } from './audit-rows.ts'

export const CLAIMS = typesThat(({ changes }) => changes.call === 'claimed')
export const RESERVATIONS = typesThat(({ changes }) => changes.reservation === 'open')
const UNDOINGS = typesThat(({ changes }) => changes.undoing !== undefined)
/** Compensations after which the effect is, as far as known, still in place. */
export const UNDONE_NOT = typesThat(({ changes }) => changes.undoing !== undefined && changes.undoing !== 'succeeded')
const CALL_ENDS = typesThat(({ changes }) => changes.call === 'settled')
const RESERVATION_ENDS = typesThat(
  ({ changes }) => changes.reservation === 'settled' || changes.reservation === 'released',
)
const RESOLVES = 'ToolCallResolved' satisfies EventType

/** Safe to embed in SQL: type names come from the event catalogue, never from user input. */
export const listOf = (types: readonly EventType[]): string => `(${types.map((type) => `'${type}'`).join(', ')})`

/** Conditions that no later event `o` ends a claim, a reservation or a failed compensation. A new claim of the same call ends the one before. */
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

/** Events that match the filter and that no later event of the view ends. */
export function notFollowed(view: AuditView, filter: AuditFilter, by: keyof typeof NOT_FOLLOWED): Conditions {
  const { sql, values } = conditionsOf(view, filter)
  const sizes = NOT_FOLLOWED[by].split('?').slice(1)
  return { sql: `${sql} AND ${NOT_FOLLOWED[by]}`, values: [...values, ...sizes.map(() => view.size)] }
}
