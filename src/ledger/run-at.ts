/** @module The point in the past of a run to which a query refers. */

export interface RunAt {
  /** Revision of the last event to include. */
  readonly revision: number
  /** Time at which leases are evaluated, in milliseconds since 1970; if absent, the time of that event. */
  readonly timeMs?: number
}

/** Time at which expiry is evaluated at that point, in milliseconds since 1970. `lastEvent`: time of the last event of the run at that point. */
export const clockAt = ({ timeMs }: RunAt, lastEvent: string): number => timeMs ?? Date.parse(lastEvent)

/** A page of one of the lists of a run: the items after a revision, now or as of a point in the past. */
export interface RunPage {
  readonly after: number
  readonly limit: number
  readonly at?: RunAt | undefined
}

/** A page of the reservations of a run: the items after an id, now or as of a point in the past. */
export interface ReservationsPage {
  readonly after?: string
  readonly limit: number
  readonly at?: RunAt | undefined
}
