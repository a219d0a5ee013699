/** @module Facts that the processes serving a ledger record about themselves. */
import type { EventBody } from '../../schemas/events.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { ServiceFilter } from './audit/service-queries.ts'

export interface StartedService {
  readonly version: string
  readonly node: string
  /** Settings by the names of their flags, without secrets. */
  readonly settings: Readonly<Record<string, string>>
}

/** Each method resolves once its event is durable, and throws `StoreUnavailableError` if the store does not accept it. */
export interface ServiceRecord {
  /** Returns the id of the start. */
  started(service: StartedService): Promise<string>
  stopped(start: string): Promise<void>
  changed(start: string, change: Pick<EventBody<'ConfigurationChanged'>, 'setting' | 'digest'>): Promise<void>
  tokenIssued(token: EventBody<'TokenIssued'>): Promise<void>
}

/** A page of recorded service events, newest first. */
export interface ServicePage {
  readonly items: readonly JsonObject[]
  /** Cursor of the next page; absent at the end. */
  readonly next?: number
}

export interface ServicePlace {
  /** The `next` of the previous page. */
  readonly from?: number | undefined
  readonly limit: number
  readonly filter?: ServiceFilter
}

/** The part of the ledger's own record that auditors of a tenant may read (LOG-35). A page looks at a bounded number of events. */
export interface ServiceReads {
  /** Starts and stops, settings that concern auditors, edits, and key rotations. */
  history(page: ServicePlace): Promise<ServicePage>
  /** Tokens that were issued for a tenant. */
  tokens(tenant: string, page: ServicePlace): Promise<ServicePage>
}
