/** @module An event as readers of the ledger see it. */
import type { Header } from '../../schemas/header.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { KeptValues } from '../../schemas/redacted-parts.ts'
import type { Position } from '../store/event-store.ts'

/**
 * An event as it is read: the parsed parts, and the exact texts that were signed. Parts may be computed on first access, so the object must be passed
 * on as it is. A spread would silently lose `data`, `digest` and `texts`: they are class accessors, which the compiler also omits from the type of a
 * spread.
 */
export abstract class LedgerEvent {
  abstract readonly position: Position
  abstract readonly header: Header
  abstract get data(): JsonObject
  abstract get digest(): string
  /** Whether the MAC and the digest of the body match, if they were checked. The links between events are checked by `verify` and `replay`. */
  readonly seal?: 'valid' | 'invalid'
  /** The decrypted values of the event, if they were requested. They are not part of any of the texts. */
  readonly kept?: KeptValues
  /** The `header` of `texts`. */
  abstract get headerText(): string
  abstract get texts(): { readonly header: string; readonly salt: string; readonly data: string }
}
