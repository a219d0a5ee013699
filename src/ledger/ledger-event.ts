/** @module An event as whoever asks the ledger reads it. */
import type { Header } from '../../schemas/header.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { KeptValues } from '../../schemas/redacted-parts.ts'
import type { Position } from '../store/event-store.ts'

/**
 * An event as it is read: the parsed parts, and the exact texts that were signed. Its parts may be made when they are first looked at: it is passed
 * on as it is. A spread would lose `data`, `digest` and `texts` silently; they are accessors of a class here, which the compiler leaves out of
 * the type of a spread as well.
 */
export abstract class LedgerEvent {
  abstract readonly position: Position
  abstract readonly header: Header
  abstract get data(): JsonObject
  abstract get digest(): string
  /** Whether mac and body's digest fit, where that was looked at; the links between events are what `verify` and `replay` check. */
  readonly seal?: 'valid' | 'invalid'
  /** What is encrypted in it, read; where that was asked for. It is in none of the texts. */
  readonly kept?: KeptValues
  /** The first of the texts. */
  abstract get headerText(): string
  abstract get texts(): { readonly header: string; readonly salt: string; readonly data: string }
}
