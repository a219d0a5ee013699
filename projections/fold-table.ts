/**
 * @module What a fold does with each type of event, as a table that the compiler holds complete: a new type does not compile before each
 * fold says what it does with it, or that it passes it over. No catalogue is imported here, as folds run in the event server's engine too.
 */
import type { EventBody, RunEventType } from '../schemas/events.ts'
import type { Header } from '../schemas/header.ts'
import type { RecordedEvent } from './projection.ts'

type Fold<State, T extends RunEventType> = (state: State, data: EventBody<T>, header: Header) => void

/** `null`: the fold passes the type over. */
export type FoldTable<State> = { readonly [T in RunEventType]: Fold<State, T> | null }

/** One entry for each of the types. Entries that stand behind it in the table go before it. */
export function eachOf<T extends string, const V>(value: V, ...types: readonly T[]): { readonly [K in T]: V } {
  return Object.fromEntries(types.map((type) => [type, value])) as { readonly [K in T]: V }
}

/** The entries of types that a table passes over. */
export function ignore<T extends string>(...types: readonly T[]): { readonly [K in T]: null } {
  return eachOf(null, ...types)
}

/** Changes the state as the table says. A type that the table does not know, from a later version, is passed over. */
export function foldBy<State>(table: FoldTable<State>, state: State, { type, data, header }: RecordedEvent): void {
  if (!Object.hasOwn(table, type)) return
  // The table pairs each type with the fold of its own body.
  const fold = table[type] as ((state: State, data: RecordedEvent['data'], header: Header) => void) | null
  fold?.(state, data, header)
}

/** What is made of each type of event; `null`: nothing. */
export type MakeTable<Event extends RecordedEvent, Extra, Made> = {
  readonly [T in RunEventType]: ((event: Extract<Event, { type: T }>, extra: Extra) => Made) | null
}

/** What the table makes of an event; undefined where it makes nothing of its type, or does not know it. */
export function makeBy<Event extends RecordedEvent, Extra, Made>(
  table: MakeTable<Event, Extra, Made>,
  event: Event,
  extra: Extra,
): Made | undefined {
  if (!Object.hasOwn(table, event.type)) return undefined
  const make = table[event.type] as ((event: Event, extra: Extra) => Made) | null
  return make === null ? undefined : make(event, extra)
}
