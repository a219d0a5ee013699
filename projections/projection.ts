/** @module The interface of a projection: a name, a version, and one total, pure function over events. */
import type { RunEvent } from '../schemas/events.ts'
import type { Header } from '../schemas/header.ts'

/** A run event with its signed header. */
export type RecordedEvent = RunEvent & { readonly header: Header }

/**
 * `evolve` is plain ECMAScript: no clock, no crypto, no I/O, so that the same source runs in this process and in EventStoreDB's engine. It
 * may modify the given state, so a caller must use only the returned one.
 */
export interface Projection<State> {
  readonly name: string
  /** Increased whenever the shape or the meaning of the state changes; cached folds of another version are rebuilt. */
  readonly version: number
  readonly initial: () => State
  readonly evolve: (state: State, event: RecordedEvent) => State
}
