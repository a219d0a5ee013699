/** @module What a run's state knows of its waits and of the signals that it holds. */

/** `waiting` is what is on record: past its end a wait is still waiting until an event says so. */
export type WaitStatus = 'waiting' | 'signalled' | 'timed-out' | 'elapsed'

export interface WaitState {
  readonly waitId: string
  readonly key: string
  /** Of the signal; absent where only time ends the wait. */
  readonly name?: string
  readonly until?: string
  /** The payload has to fit a schema: it is in the event. */
  readonly hasSchema?: true
  readonly scope?: string
  readonly occurrence?: number
  /** Of the event that started it. */
  readonly revision: number
  readonly startedAt: string
  status: WaitStatus
  /** The signal that ended it, and where its payload stands. */
  signalId?: string
  signalRevision?: number
}

/** A signal that no wait was there for. */
export interface HeldSignal {
  readonly signalId: string
  readonly name: string
  readonly revision: number
  readonly receivedAt: string
}
