/** @module What a projection is: a name, a version, and one total, pure function over events. */
import type { RunEvent } from '../schemas/events.ts'
import type { Header } from '../schemas/header.ts'

/** A run event with the header that was signed over it. */
export type RecordedEvent = RunEvent & { readonly header: Header }

/**
 * `evolve` is plain ECMAScript: no clock, no crypto, no I/O, so that the same source runs in this process and in EventStoreDB's engine.
 * It may reuse the state it receives: whoever folds hands the old state over and keeps only the new one.
 */
export interface Projection<State> {
  readonly name: string
  /** Raised whenever the shape or the meaning of the state changes: cached folds of another version are rebuilt. */
  readonly version: number
  readonly initial: () => State
  readonly evolve: (state: State, event: RecordedEvent) => State
}
