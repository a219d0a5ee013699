/** @module What a story of a run consists of: marks, spans and points of the budget. */
import type { BudgetState } from '../../../projections/run-budget.ts'
import type { ModelSpend } from './model-spend.ts'

export type SpanStatus = 'open' | 'succeeded' | 'failed' | 'in-doubt' | 'undone'

export interface Span {
  readonly callId: string
  readonly tool: string
  readonly phase: string
  readonly lane: string
  /** Revision and time of the claim. */
  readonly from: number
  readonly fromTime: string
  readonly attempt: number
  /** The forward call that this one undoes. */
  readonly compensates?: string
  /** Revision and time of the last outcome. */
  to?: number
  toTime?: string
  status: SpanStatus
}

export type MarkKind =
  | 'start'
  | 'accepted'
  | 'rejected'
  | 'rewind'
  | 'refused'
  | 'undo'
  | 'undone'
  | 'fork'
  | 'offer'
  | 'branch'
  | 'join'
  | 'completed'
  | 'failed'
  | 'approval'
  | 'granted'
  | 'denied'
  | 'lapsed'
  | 'wait'
  | 'woken'
  | 'signal'
  | 'unheard'
  | 'judged'
  | 'bounds'
  | 'related'
  | 'resumed'
  | 'withheld'
  /** Of a type that this build does not know. */
  | 'other'

/** One event that stands in the picture at a point. */
export interface Mark {
  readonly kind: MarkKind
  readonly type: string
  readonly revision: number
  readonly time: string
  /** The agent; empty for the run itself. */
  readonly lane: string
  readonly step?: number
  readonly fromStep?: number
  /** What was found, in a refused handoff or as a warning in an accepted one. */
  readonly findings?: number
  readonly supersedes?: number
  /** Revision whose context a rewind restores. */
  readonly restores?: number
  readonly cause?: string
  /** The fork that it opens, reports to or ends. */
  readonly fork?: string
  /** Names of merged branches, in a join; the one that reports, in a report. */
  readonly branches?: readonly string[]
  /** Spent since the handoff before, this one included. */
  readonly tokens?: number
  readonly cost?: string
  readonly text?: string
}

export interface BudgetPoint {
  readonly revision: number
  readonly time: string
  readonly tokens: number
  readonly cost: string
  readonly reservedTokens: number
  readonly reservedCost: string
}

export interface RunStory {
  /** First revision that was folded; 0 where the story is whole. */
  readonly first: number
  /** The next revision to fold. */
  next: number
  startedAt: string
  endedAt: string
  readonly marks: Mark[]
  readonly spans: Span[]
  /** Of spans that are still open, and of all forward calls, by call id. */
  readonly spanOf: Map<string, Span>
  readonly budgetPoints: BudgetPoint[]
  readonly budget: BudgetState
  readonly models: Map<string, ModelSpend>
  /** Spent when the last handoff was recorded. */
  delegated: { tokens: number; cost: string }
}
