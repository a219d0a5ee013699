/** @module Events as the verifier takes them, and what it works out from them in bounded memory. */
import type { Header } from '../../../schemas/header.ts'
import type { JsonObject } from '../../../schemas/json.ts'

/** An event with its body. */
export interface BundleEvent {
  readonly header: Header
  readonly data: JsonObject
  /** What a ledger that has the event says of it besides, in a row of its own. */
  readonly beside?: JsonObject
}

/** An event as events.jsonl holds it, with the texts that were sealed. */
export interface SealedEvent extends BundleEvent {
  readonly headerText: string
  readonly dataText: string
  readonly salt: string
}

/** An event of the log, with its body where the bundle holds it. */
export interface LoggedEvent {
  readonly header: Header
  readonly data: JsonObject | undefined
  readonly beside?: JsonObject
}

export function hasBody(event: LoggedEvent): event is BundleEvent {
  return event.data !== undefined
}

/** What is worked out from events in their order, in bounded memory: for large tenants that takes more than one pass over them. */
export interface Gathered<Event extends BundleEvent = BundleEvent> {
  take(event: Event): void
  /** For the passes after the first. */
  takeAgain(event: Event): void
  /** Whether the events have to be taken again, from the first on; asked after each pass. */
  nextPass(): boolean
  /** Bytes that grow with the number of runs and calls. */
  readonly heldBytes: number
}
