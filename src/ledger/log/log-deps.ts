/** @module What the parts of the logs share, and what can go wrong with them. */
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

/** A fact of the ledger's own about one of its logs. */
export interface LogFact {
  readonly tenant: string
  readonly type: 'CheckpointSigned' | 'CheckpointTimestamped'
  readonly data: Json
  /** Where it goes: the stream, and what stands before it. */
  readonly at: Expectation
}

/** Whoever waits for a start that has a whole store to read, and may give it up. */
export interface StartWatch {
  /** Ends the reading; the start then rejects with the signal's reason, and what was read is not lost. */
  readonly signal: AbortSignal
  /** Called when such reading begins, without progress, and each second while it lasts. */
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
  /** Appends handed to the store so far: while it stands still, the logs have time. */
  readonly appendsSoFar: () => number
  readonly memory: MemoryBudget
  /** Absent where nobody measures it. */
  readonly lag?: Followed | undefined
  /** What was lost is there again: other files that followed the store without it have to be made anew. */
  readonly onPutBack?: ((reason: string) => void) | undefined
  /** Absent where nobody is told what a start waits for. */
  readonly starting?: StartWatch | undefined
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
