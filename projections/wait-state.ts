/** @module The state of waits and held signals in a run. */

/** Status as recorded: a wait past its end is still `waiting` until an event ends it. */
export type WaitStatus = 'waiting' | 'signalled' | 'timed-out' | 'elapsed'

export interface WaitState {
  readonly waitId: string
  readonly key: string
  /** Name of the signal; absent if only time ends the wait. */
  readonly name?: string
  readonly until?: string
  /** The payload has to fit a JSON Schema, which is in the event of `revision`. */
  readonly hasSchema?: true
  readonly scope?: string
  readonly occurrence?: number
  /** Revision of the event that started the wait. */
  readonly revision: number
  readonly startedAt: string
  status: WaitStatus
  /** The signal that ended the wait, and the revision of the event with its payload. */
  signalId?: string
  signalRevision?: number
}

/** A signal that no wait expected. */
export interface HeldSignal {
  readonly signalId: string
  readonly name: string
  readonly revision: number
  readonly receivedAt: string
}
