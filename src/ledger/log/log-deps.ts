/** @module What the parts of the logs share, and what can go wrong with them. */
import type { MemoryBudget } from '../../resources/memory-budget.ts'
import type { EventStore } from '../../store/event-store.ts'
import type { LogStore } from '../../store/log-store.ts'
import type { Followed } from '../followed.ts'
import type { LogKeys } from '../identity/log-keys.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Effects, Log } from '../ports.ts'

export interface LogDeps {
  readonly store: EventStore
  readonly logStore: LogStore
  readonly logKeys: LogKeys
  readonly sealer: Sealer
  readonly effects: Effects
  readonly log: Log
  /** Appends handed to the store so far: while it stands still, the logs have time. */
  readonly appendsSoFar: () => number
  readonly memory: MemoryBudget
  /** Absent where nobody measures it. */
  readonly lag?: Followed | undefined
}

/** Name of a tenant's log and of the key that signs it, for life. */
export function logOrigin(origin: string, tenant: string): string {
  return `${origin}/${tenant}`
}

/** The store lies behind, or beside, a checkpoint that this ledger signed. The message says what to do. */
export class LogStartError extends Error {
  readonly code: 'store-behind-checkpoint' | 'history-rewritten' | 'kept-checkpoints-damaged'

  constructor(code: LogStartError['code'], message: string) {
    super(message)
    this.name = 'LogStartError'
    this.code = code
  }
}

/** 32 bytes of a `sha256:` text. */
export function digestBytes(digest: string): Uint8Array {
  return Buffer.from(digest.slice(digest.indexOf(':') + 1), 'hex')
}
