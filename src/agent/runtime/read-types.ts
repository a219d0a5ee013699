/** @module The forms of what a program reads: runs, calls, a budget, and which events it follows. */
import type { Json } from '../../../schemas/json.ts'

/** Which runs are listed; times are RFC 3339. */
export interface RunFilter {
  readonly status?: 'open' | 'completed' | 'failed' | 'compensated'
  readonly name?: string
  readonly tag?: string
  /** How the last rollback ended. */
  readonly compensation?: 'COMPENSATED' | 'PARTLY_COMPENSATED' | 'COMPENSATION_FAILED' | 'IN_DOUBT'
  /** Started at or after. */
  readonly since?: string
}

/** A run as the list shows it. Times are RFC 3339 in UTC, `cost` is a decimal string. */
export interface RunSummary {
  readonly runId: string
  readonly name: string
  readonly status: string
  readonly tags: readonly string[]
  /** Who started it. */
  readonly actor: string
  readonly startedAt: string
  readonly updatedAt: string
  /** Of its last event. */
  readonly revision: number
  /** Accepted handoffs. */
  readonly step: number
  readonly calls: number
  readonly compensation?: string
  readonly [member: string]: Json | undefined
}

/** A call of a run as the ledger lists it. */
export interface RunCall {
  readonly callId: string
  readonly tool: string
  readonly phase: 'forward' | 'compensation' | 'model'
  /** `claimed`, `succeeded`, `failed`, `in-doubt`, `compensating`, `compensated`, `compensation-failed` or `compensation-unknown`. */
  readonly status: string
  readonly attempt: number
  /** As recorded. Those of a model call hold the whole `request`, also where the record holds what was new in it. */
  readonly args: Json
  /** Absent where there is none, or where it lies beside the events (`resultRef`). */
  readonly result?: Json
  readonly scope?: string
  readonly parentCall?: string
  readonly [member: string]: Json | undefined
}

/** What a run has spent and reserved, with its limits. Costs are decimal strings of the run's currency. */
export interface RunBudget {
  readonly tokens: number
  readonly cost: string
  readonly reservedTokens: number
  readonly reservedCost: string
  readonly limits: { readonly tokens?: number; readonly cost?: string }
  /** There are more than the first 100 in `reservations`: `GET /v1/runs/{run}/budget` has them page by page. */
  readonly moreReservations?: true
  readonly [member: string]: Json | undefined
}

/** Which events a tail gives. */
export interface TailOptions {
  /** Of one run; default: of all that this caller may read. */
  readonly runId?: string
  readonly types?: readonly string[]
  /** Ends it. */
  readonly signal?: AbortSignal
}
