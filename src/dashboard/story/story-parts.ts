/** @module The parts of a run's story: marks, spans and budget points. */
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
  /** Id of the forward call that this one undoes. */
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
  | 'left'
  | 'withheld'
  /** An event of a type that this build does not know. */
  | 'other'

/** One event that is shown as a sign in the picture. */
export interface Mark {
  readonly kind: MarkKind
  readonly type: string
  readonly revision: number
  readonly time: string
  /** The agent; empty for the run itself. */
  readonly lane: string
  readonly step?: number
  readonly fromStep?: number
  /** Number of findings in a refused handoff, or of warnings in an accepted one. */
  readonly findings?: number
  readonly supersedes?: number
  /** Revision whose context a rewind restores. */
  readonly restores?: number
  readonly cause?: string
  /** Id of the fork that the event opens, reports to or ends. */
  readonly fork?: string
  /** For a join, the names of the merged branches; for a report, the reporting branch. */
  readonly branches?: readonly string[]
  /** Spent since the previous handoff, including this one. */
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
  /** First revision that was folded; 0 if the story is complete. */
  readonly first: number
  /** The next revision to fold. */
  next: number
  startedAt: string
  endedAt: string
  readonly marks: Mark[]
  readonly spans: Span[]
  /** All spans, by call id. */
  readonly spanOf: Map<string, Span>
  readonly budgetPoints: BudgetPoint[]
  readonly budget: BudgetState
  readonly models: Map<string, ModelSpend>
  /** Total spend when the last handoff was recorded. */
  delegated: { tokens: number; cost: string }
}
