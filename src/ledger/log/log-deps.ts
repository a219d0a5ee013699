/** @module The dependencies that the parts of the logs share, and the errors of a start. */
import type { Json } from '../../../schemas/json.ts'
import type { MemoryBudget } from '../../resources/memory-budget.ts'
import type { Expectation } from '../../signing/check.ts'
import type { AppendResult, EventStore } from '../../store/event-store.ts'
import type { LogStore } from '../../store/log-store.ts'
import type { IndexProgress } from '../audit/index-building.ts'
import type { Followed } from '../followed.ts'
import type { LogKeys } from '../identity/log-keys.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Effects, Log } from '../ports.ts'

/** A fact that the ledger itself records about one of its logs. */
export interface LogFact {
  readonly tenant: string
  readonly type: 'CheckpointSigned' | 'CheckpointTimestamped'
  readonly data: Json
  /** Where the fact is appended: the stream, and the state of the stream before it. */
  readonly at: Expectation
}

/** Observes a start that has to read a whole store, and can cancel it. */
export interface StartWatch {
  /** Cancels the reading: the start then rejects with the reason of the signal, and the progress made is kept. */
  readonly signal: AbortSignal
  /** Called without progress when the reading begins, and then with progress every second. */
  readonly onCatchUp: (progress?: IndexProgress) => void
}

export interface LogDeps {
  readonly store: EventStore
  readonly logStore: LogStore
  readonly logKeys: LogKeys
  readonly sealer: Sealer
  readonly effects: Effects
  /** Seals a fact and appends it. */
  readonly append: (fact: LogFact) => Promise<AppendResult>
  readonly log: Log
  /** Number of appends handed to the store so far; while it does not change, the logs have time to work. */
  readonly appendsSoFar: () => number
  readonly memory: MemoryBudget
  /** Absent if the lag is not measured. */
  readonly lag?: Followed | undefined
  /** Called when lost events were put back: other files that followed the store without them have to be rebuilt. */
  readonly onPutBack?: ((reason: string) => void) | undefined
  /** Absent if the progress of a start is not reported. */
  readonly starting?: StartWatch | undefined
}

/** Name of a tenant's log and of the key that signs it, for the lifetime of the ledger. */
export function logOrigin(origin: string, tenant: string): string {
  return `${origin}/${tenant}`
}

/** The store is behind a checkpoint that this ledger signed, or diverges from it. The message says what to do. */
export class LogStartError extends Error {
  readonly code: 'store-behind-checkpoint' | 'history-rewritten' | 'kept-checkpoints-damaged'

  constructor(code: LogStartError['code'], message: string) {
    super(message)
    this.name = 'LogStartError'
    this.code = code
  }
}

/** The 32 bytes of a `sha256:` text. */
export function digestBytes(digest: string): Uint8Array {
  return Buffer.from(digest.slice(digest.indexOf(':') + 1), 'hex')
}
