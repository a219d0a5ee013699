/** @module Cached folds of long runs. */

import { runProjection } from '../../../projections/run.ts'
import type { RunState } from '../../../projections/run-state.ts'
import { parseJson } from '../../../schemas/json.ts'
import { dumpEvidence, type EvidenceDump, loadEvidence } from '../../domain/validator/evidence.ts'
import { weigh } from '../../resources/memory-budget.ts'
import type { WorkQueue } from '../../resources/work-queue.ts'
import type { ViewStore } from '../../store/view-store.ts'
import { type FoldPlace, loadSealedFold, saveSealedFold } from '../identity/sealed-fold.ts'
import type { KnownEnd } from '../read/lost-end.ts'
import type { VerifyDeps } from '../read/verified-events.ts'
import type { Head, RunAggregate } from './run-aggregate.ts'

const FOLD_PROJECTION = `${runProjection.name}/${runProjection.version}`
const FOLD_PREFIX = 'countersign/fold/v7\n'
/** Maximum bytes of a parsed state per character of its text, approximately. */
const STATE_TEXT_FACTOR = 6
/** A tail of this length is worth caching a fold. */
export const CACHE_EVERY_EVENTS = 1_000
/** The length while other runs have pending appends: writing a fold takes time proportional to the run, and they would wait for it. */
export const CACHE_LATEST_EVENTS = 4 * CACHE_EVERY_EVENTS

export interface LoadDeps extends VerifyDeps {
  readonly views: Pick<ViewStore, 'loadFold' | 'saveFold'>
  /** What the log knows of a stream; absent if no log is kept. */
  readonly knownHead?: KnownEnd | undefined
  /** The queue in whose turns large events are folded; if absent, they are folded without pauses. */
  readonly work?: WorkQueue | undefined
}

interface CachedFold {
  readonly state: RunState
  readonly evidence: EvidenceDump
  readonly head: Head
}

/** Saves the fold of an idle run. If the view store cannot save it, only the next load takes longer. */
export function saveFold(deps: LoadDeps, run: RunAggregate): void {
  if (run.state === undefined || run.head === undefined || !run.idle || run.dead || run.paused !== undefined) return
  const fold: CachedFold = { state: run.state, evidence: dumpEvidence(run.evidence), head: run.head }
  const text = JSON.stringify(fold)
  run.stateBytes = Math.min(run.stateBytes, STATE_TEXT_FACTOR * text.length)
  const { revision } = run.head
  // Set even if nothing was saved: the next attempt is due after the same number of events.
  if (saveSealedFold(deps, placeOf(run), { revision, text })) run.cachedRevision = revision
}

/** Loads a cached fold if there is an intact one. The caller has to check whether the stream still holds its head. */
export function takeFold(deps: LoadDeps, run: RunAggregate): void {
  const cached = loadSealedFold(deps, placeOf(run), ({ revision, text }) => {
    const fold = parseJson<CachedFold>(text)
    return fold.head.revision === revision ? fold : undefined
  })
  if (cached === undefined) return
  run.state = cached.state
  run.stateBytes = weighState(cached.state)
  run.evidence = loadEvidence(cached.evidence)
  run.head = cached.head
  run.cachedRevision = cached.head.revision
}

function weighState({ context: _, snapshot: __, ...rest }: RunState): number {
  return weigh(rest)
}

function placeOf({ tenant, stream }: RunAggregate): FoldPlace {
  return { tenant, stream, projection: FOLD_PROJECTION, prefix: `${FOLD_PREFIX}${FOLD_PROJECTION}\n${stream}\n` }
}
