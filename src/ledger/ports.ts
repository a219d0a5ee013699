/** @module What the ledger is handed: a store, keys, and the effects of the world as values. */

import type { PolicyObject } from '../../schemas/policy.ts'
import type { LedgerKeys } from '../signing/ledger-keys.ts'

/** The keys as they are now; a rotation changes them while the ledger runs. */
export interface KeySource {
  readonly current: () => LedgerKeys
  /** Calls back after a change; returns the unsubscriber. */
  readonly onChange: (listener: (keys: LedgerKeys) => void) => () => void
}

export interface Effects {
  /** The wall clock, milliseconds since the epoch: it may be set, forward and back. */
  readonly nowMs: () => number
  /** Milliseconds since some moment: never set, never back. */
  readonly monotonicMs: () => number
  /** A new UUIDv7 at each call. */
  readonly newId: () => string
  /** 16 random bytes. */
  readonly newSalt: () => Uint8Array
  /** 0 up to 1: jitter of retries. */
  readonly random: () => number
  readonly sleep: (ms: number) => Promise<void>
}

/** The policy that the operator declared for the runs of a tenant; undefined: none. */
export type TenantPolicies = (tenant: string) => PolicyObject | undefined

/** The little of a logger that the ledger needs; pino fits. */
export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
