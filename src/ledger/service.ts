/** @module What processes that serve a ledger say of themselves, for its record. */
import type { EventBody } from '../../schemas/events.ts'

export interface StartedService {
  readonly version: string
  readonly node: string
  /** By the names of the flags, without secrets. */
  readonly settings: Readonly<Record<string, string>>
}

/** Each resolves once it is durable, and throws `StoreUnavailableError` where the store does not take it. */
export interface ServiceRecord {
  /** Gives the id of the start. */
  started(service: StartedService): Promise<string>
  stopped(start: string): Promise<void>
  changed(start: string, change: Pick<EventBody<'ConfigurationChanged'>, 'setting' | 'digest'>): Promise<void>
  tokenIssued(token: EventBody<'TokenIssued'>): Promise<void>
}
