/** @module The point of a run's past that a question is about. */

export interface RunAt {
  /** Of the last event that counts. */
  readonly revision: number
  /** By what time a lease is over, in milliseconds since 1970; absent: by the time of that event. */
  readonly timeMs?: number
}

/** By what time of that point something is over, in milliseconds since 1970. `lastEvent`: time of the run's last event then. */
export const clockAt = ({ timeMs }: RunAt, lastEvent: string): number => timeMs ?? Date.parse(lastEvent)

/** A part of one of a run's lists: what comes after a revision, as it is now or was then. */
export interface RunPage {
  readonly after: number
  readonly limit: number
  readonly at?: RunAt | undefined
}

/** A part of a run's reservations: what comes after an id, as it is now or was then. */
export interface ReservationsPage {
  readonly after?: string
  readonly limit: number
  readonly at?: RunAt | undefined
}
