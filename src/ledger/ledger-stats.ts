/** @module Counters and measurements of the ledger, for /metrics and readiness. */
import type { UnsettledCalls } from '../store/view-store.ts'
import type { IndexProgress } from './audit/index-building.ts'
import type { StampFailures, StampingState } from './log/timestamp-authority.ts'
import type { WitnessFailures } from './log/witness-posts.ts'

export interface LedgerStats {
  readonly appendedEvents: number
  readonly appends: number
  readonly conflicts: number
  readonly refusals: Readonly<Record<string, number>>
  /** How often the store stopped accepting appends because of a fault of its medium. */
  readonly storeFaults: readonly { readonly operation: string; readonly errno: string; readonly count: number }[]
  readonly inFlightAppends: number
  readonly cachedRuns: number
  readonly integrity: {
    /** Events recorded as broken, across all tenants, without those whose loss is acknowledged; at most 1,000 of a tenant are recorded. */
    readonly faults: number
    /** End of the last complete scrub pass, in milliseconds since 1970. */
    readonly lastPassEndedMs?: number
  }
  /** Stopped logs by tenant. An entry without a tenant means that the store as a whole has lost events. */
  readonly stoppedLogs: readonly LogStopped[]
  /** Tenants whose log continued past an acknowledged loss. */
  readonly holedLogs: readonly string[]
  /** Acknowledgements of losses, across all tenants, that the logs continued past. */
  readonly acknowledgedLosses: number
  /** Events of this process that the run list, the audit index and the logs have not seen yet; followers without a complete pass are left out. */
  readonly lagEvents: readonly { readonly name: LedgerFollower; readonly events: number }[]
  /** When every log was last found covered by a signed checkpoint, in milliseconds since 1970; absent before the first time, and if no log is kept. */
  readonly coveredAtMs?: number
  /** Maximum time from an event to its checkpoint, in milliseconds. 0: no checkpoint is signed on a timer; absent: no log is kept. */
  readonly checkpointDelayMs?: number
  /** How often a witness did not cosign, by reason. */
  readonly witnessFailures: readonly WitnessFailures[]
  /** How often the time-stamping authority did not return a usable token, by reason. */
  readonly stampFailures: readonly StampFailures[]
  /** Absent if checkpoints are not time-stamped. */
  readonly stamping?: StampingState
  /** Calls in doubt, and overdue ones, across all tenants, according to the run list; counted in up to 10,000 runs. Absent before its first complete pass. */
  readonly unsettled?: UnsettledCalls
  /** Files that are being rebuilt from far behind, as on a first start with a full store. Queries that depend on them wait, or are answered with 503. */
  readonly building: readonly (IndexProgress & { readonly name: LedgerFollower })[]
}

/** The code of an acknowledged loss: the log continued past it. */
export const ACKNOWLEDGED = 'acknowledged'

/** The code with which all logs stop if attestations (notes) of the store's writers are missing or altered. */
export const NOTES_GONE = 'group-notes'

export interface LogStopped {
  readonly tenant?: string
  readonly code: string
}

/** The components that follow the store. */
export type LedgerFollower = 'runs' | 'audit' | 'logs'
