/**
 * @module Tables that define what a fold does with each event type. The compiler checks them for completeness: a new type does not compile
 * until each fold handles or ignores it. The catalogue is not imported, because folds also run in the event server's engine.
 */
import type { EventBody, RunEventType } from '../schemas/events.ts'
import type { Header } from '../schemas/header.ts'
import type { RecordedEvent } from './projection.ts'

type Fold<State, T extends RunEventType> = (state: State, data: EventBody<T>, header: Header) => void

/** `null`: the fold ignores the type. */
export type FoldTable<State> = { readonly [T in RunEventType]: Fold<State, T> | null }

/** One entry for each of the types. Later entries of the same table take precedence. */
export function eachOf<T extends string, const V>(value: V, ...types: readonly T[]): { readonly [K in T]: V } {
  return Object.fromEntries(types.map((type) => [type, value])) as { readonly [K in T]: V }
}

/** Entries for the types that a table ignores. */
export function ignore<T extends string>(...types: readonly T[]): { readonly [K in T]: null } {
  return eachOf(null, ...types)
}

/** Updates the state by the table's entry. A type that the table does not contain, from a later version, is ignored. */
export function foldBy<State>(table: FoldTable<State>, state: State, { type, data, header }: RecordedEvent): void {
  if (!Object.hasOwn(table, type)) return
  // The table pairs each type with the fold of its own body.
  const fold = table[type] as ((state: State, data: RecordedEvent['data'], header: Header) => void) | null
  fold?.(state, data, header)
}

/** A function per event type that creates a value from the event; `null` if there is none. */
export type MakeTable<Event extends RecordedEvent, Extra, Made> = {
  readonly [T in RunEventType]: ((event: Extract<Event, { type: T }>, extra: Extra) => Made) | null
}

/** The value that the table creates from the event; undefined if it has no function for the type or does not know it. */
export function makeBy<Event extends RecordedEvent, Extra, Made>(
  table: MakeTable<Event, Extra, Made>,
  event: Event,
  extra: Extra,
): Made | undefined {
  if (!Object.hasOwn(table, event.type)) return undefined
  const make = table[event.type] as ((event: Event, extra: Extra) => Made) | null
  return make === null ? undefined : make(event, extra)
}
