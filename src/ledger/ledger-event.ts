/** @module An event as whoever asks the ledger reads it. */
import type { Header } from '../../schemas/header.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { Position } from '../store/event-store.ts'

/** An event as it is read: the parsed parts, and the exact texts that were signed. Its parts may be made when they are first looked at: it is passed on as it is, never spread. */
export interface LedgerEvent {
  readonly position: Position
  readonly header: Header
  readonly data: JsonObject
  readonly digest: string
  /** Whether mac and body's digest fit, where that was looked at; the links between events are what `verify` and `replay` check. */
  readonly seal?: 'valid' | 'invalid'
  readonly texts: { readonly header: string; readonly salt: string; readonly data: string }
}
