/** @module What an auditor meets while the index is being made: how far it is and when to ask again, never a part of the answer. */
import { withTimeout } from '../../resources/with-timeout.ts'

export interface IndexProgress {
  /** Events that this pass has indexed so far. */
  readonly indexedEvents: number
  /** About, by the positions in the store: 0 to 100. */
  readonly percent: number
}

const RETRY_AFTER_MS = 2_000
/** What is further than this is nearly there: a pass like any other. */
const NEARLY_PERCENT = 99

/** The progress of a pass that has a way to go. */
export function building(progress: IndexProgress): IndexProgress | undefined {
  return progress.percent < NEARLY_PERCENT ? progress : undefined
}

/** The index is too far behind to wait for: it goes on being made, and nothing was answered. */
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

/** How far `at` is on the way to `end`, by the numbers that positions of all stores begin with. */
export function percentOf(at: string | undefined, end: string): number {
  const [done, all] = [leadingNumber(at ?? ''), leadingNumber(end)]
  return all === 0 ? 0 : Math.min(99, Math.floor((100 * done) / all))
}

function leadingNumber(position: string): number {
  return Number(/^\d+/.exec(position)?.[0] ?? 0)
}

/** Waits so long for the pass, which goes on meanwhile. Throws `IndexBuildingError` where it is not done by then. */
export function orBuilding(
  pass: Promise<void>,
  { waitMs, progress }: { readonly waitMs: number; readonly progress: () => IndexProgress },
): Promise<void> {
  return withTimeout(pass, waitMs, () => new IndexBuildingError(progress()))
}
