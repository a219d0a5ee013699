/** @module Answers while the index is being built: the progress and a retry delay, never a partial answer. */
import { withTimeout } from '../../resources/with-timeout.ts'

export interface IndexProgress {
  /** Number of events that this pass has indexed so far. */
  readonly indexedEvents: number
  /** Approximate progress by positions in the store: 0 to 100. */
  readonly percent: number
}

const RETRY_AFTER_MS = 2_000
/** From this percentage on, a pass counts as an ordinary one that is nearly done. */
const NEARLY_PERCENT = 99

/** The progress of a pass that still has far to go; otherwise undefined. */
export function building(progress: IndexProgress): IndexProgress | undefined {
  return progress.percent < NEARLY_PERCENT ? progress : undefined
}

/** The index is too far behind to wait for. It continues to be built; the query was not answered. */
export class IndexBuildingError extends Error {
  readonly code = 'index-building'
  readonly progress: IndexProgress
  readonly retryAfterMs = RETRY_AFTER_MS

  constructor(progress: IndexProgress) {
    super(
      `the auditors' index is being made: ${progress.percent} % of the store, ${progress.indexedEvents} events so far`,
    )
    this.name = 'IndexBuildingError'
    this.progress = progress
  }
}

/** Percentage of `at` on the way to `end`, based on the leading numbers that positions of all stores have. */
export function percentOf(at: string | undefined, end: string): number {
  const [done, all] = [leadingNumber(at ?? ''), leadingNumber(end)]
  return all === 0 ? 0 : Math.min(99, Math.floor((100 * done) / all))
}

function leadingNumber(position: string): number {
  return Number(/^\d+/.exec(position)?.[0] ?? 0)
}

/** Waits up to `waitMs` for the pass, which continues afterwards. Throws `IndexBuildingError` if the pass is not done by then. */
export function orBuilding(
  pass: Promise<void>,
  { waitMs, progress }: { readonly waitMs: number; readonly progress: () => IndexProgress },
): Promise<void> {
  return withTimeout(pass, waitMs, () => new IndexBuildingError(progress()))
}
