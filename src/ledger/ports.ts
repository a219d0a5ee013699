/** @module The dependencies that the ledger receives from outside: keys, the effects of the world, policies and a logger. */

import type { PolicyObject } from '../../schemas/policy.ts'
import type { LedgerKeys } from '../signing/ledger-keys.ts'

/** The current keys; a rotation changes them while the ledger runs. */
export interface KeySource {
  readonly current: () => LedgerKeys
  /** Registers a listener for changes; returns a function that unsubscribes it. */
  readonly onChange: (listener: (keys: LedgerKeys) => void) => () => void
}

export interface Effects {
  /** Wall clock in milliseconds since 1970; it can be set forward and back. */
  readonly nowMs: () => number
  /** Monotonic clock in milliseconds from an arbitrary origin; it is never set and never goes back. */
  readonly monotonicMs: () => number
  /** Returns a new UUIDv7 at each call. */
  readonly newId: () => string
  /** Returns 16 random bytes. */
  readonly newSalt: () => Uint8Array
  /** Random number in [0, 1), for the jitter of retries. */
  readonly random: () => number
  readonly sleep: (ms: number) => Promise<void>
}

/** The policy that the operator declared for the runs of a tenant; undefined if there is none. */
export type TenantPolicies = (tenant: string) => PolicyObject | undefined

/** The subset of a logger that the ledger needs; pino satisfies it. */
export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
