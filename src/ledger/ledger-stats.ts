/** @module What a ledger counts and measures of itself, for /metrics and readiness. */
import type { IndexProgress } from './audit/index-building.ts'
import type { StampFailures, StampingState } from './log/timestamp-authority.ts'
import type { WitnessFailures } from './log/witness-posts.ts'

export interface LedgerStats {
  readonly appendedEvents: number
  readonly appends: number
  readonly conflicts: number
  readonly refusals: Readonly<Record<string, number>>
  /** Times that the store stopped taking appends because of its medium. */
  readonly storeFaults: readonly { readonly operation: string; readonly errno: string; readonly count: number }[]
  readonly inFlightAppends: number
  readonly cachedRuns: number
  readonly integrity: {
    /** Events on record as broken, of all tenants; counted up to 1,000. */
    readonly faults: number
    /** When the last whole pass of the scrub ended, in milliseconds since 1970. */
    readonly lastPassEndedMs?: number
  }
  /** Logs that stopped, by tenant; without one, the store as a whole has lost events. */
  readonly stoppedLogs: readonly LogStopped[]
  /** Tenants whose log went on past a loss that was acknowledged. */
  readonly holedLogs: readonly string[]
  /** Events of this process that the run list, the auditors' index and the logs have not seen; without those that made no whole pass yet. */
  readonly lagEvents: readonly { readonly name: LedgerFollower; readonly events: number }[]
  /** When every log was last found covered by a signed checkpoint, in milliseconds since 1970; absent before, and where no log is kept. */
  readonly coveredAtMs?: number
  /** Longest time from an event to its checkpoint, in milliseconds: 0 signs none; absent where no log is kept. */
  readonly checkpointDelayMs?: number
  /** How often a witness did not cosign, by why. */
  readonly witnessFailures: readonly WitnessFailures[]
  /** How often the time-stamping authority gave no token that can be used, by why. */
  readonly stampFailures: readonly StampFailures[]
  /** Absent where checkpoints are not time-stamped. */
  readonly stamping?: StampingState
  /** Calls in doubt, of all tenants, as the run list has them; counted in up to 10,000 runs. Absent before its first whole pass. */
  readonly callsInDoubt?: number
  /** What is being made from far behind, as at a first start on a full store: what rests on it waits, or answers 503. */
  readonly building: readonly (IndexProgress & { readonly name: LedgerFollower })[]
}

/** The code of a loss that was acknowledged: the log went on past it. */
export const ACKNOWLEDGED = 'acknowledged'

/** The code of a stop of all logs where notes of the store's writers are gone or altered. */
export const NOTES_GONE = 'group-notes'

export interface LogStopped {
  readonly tenant?: string
  readonly code: string
}

/** What follows the store beside the ledger. */
export type LedgerFollower = 'runs' | 'audit' | 'logs'
