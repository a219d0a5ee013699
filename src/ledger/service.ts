/** @module What processes that serve a ledger say of themselves, for its record. */
import type { EventBody } from '../../schemas/events.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { ServiceFilter } from './audit/service-queries.ts'

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

/** A page of what is on record, newest first. */
export interface ServicePage {
  readonly items: readonly JsonObject[]
  /** Where the next page goes on; absent at the end. */
  readonly next?: number
}

export interface ServicePlace {
  /** `next` of the page before. */
  readonly from?: number | undefined
  readonly limit: number
  readonly filter?: ServiceFilter
}

/** What auditors of a tenant may know of the ledger's own record (LOG-35). A page looks at a bounded number of events. */
export interface ServiceReads {
  /** Starts and ends, settings that concern auditors, edits, rotations of keys. */
  history(page: ServicePlace): Promise<ServicePage>
  /** Tokens that were issued for a tenant. */
  tokens(tenant: string, page: ServicePlace): Promise<ServicePage>
}
