/** @module Types of the data that a program reads: runs, calls, a budget, and the filter of a tail. */
import type { Json } from '../../../schemas/json.ts'

/** Filter of the run list; times are RFC 3339. */
export interface RunFilter {
  readonly status?: 'open' | 'completed' | 'failed' | 'compensated'
  readonly name?: string
  readonly tag?: string
  /** Result of the last rollback. */
  readonly compensation?: 'COMPENSATED' | 'PARTLY_COMPENSATED' | 'COMPENSATION_FAILED' | 'IN_DOUBT'
  /** Started at or after this time. */
  readonly since?: string
}

/** A run as shown in the list. Times are RFC 3339 in UTC; `cost` is a decimal string. */
export interface RunSummary {
  readonly runId: string
  readonly name: string
  readonly status: string
  readonly tags: readonly string[]
  /** The actor that started the run. */
  readonly actor: string
  readonly startedAt: string
  readonly updatedAt: string
  /** Revision of the run's last event. */
  readonly revision: number
  /** Number of accepted handoffs. */
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
  /** As recorded, except that a model call has the whole `request` even if only its new part is recorded. */
  readonly args: Json
  /** Absent if there is no result, or if it is stored outside the events (`resultRef`). */
  readonly result?: Json
  readonly scope?: string
  readonly parentCall?: string
  readonly [member: string]: Json | undefined
}

/** Spending and reservations of a run, with its limits. Costs are decimal strings of the run's currency. */
export interface RunBudget {
  readonly tokens: number
  readonly cost: string
  readonly reservedTokens: number
  readonly reservedCost: string
  readonly limits: { readonly tokens?: number; readonly cost?: string }
  /** `reservations` has only the first 100; `GET /v1/runs/{run}/budget` returns all, page by page. */
  readonly moreReservations?: true
  readonly [member: string]: Json | undefined
}

/** Selects the events of a tail. */
export interface TailOptions {
  /** Default: all runs that the caller may read. */
  readonly runId?: string
  readonly types?: readonly string[]
  /** Ends the tail. */
  readonly signal?: AbortSignal
}
