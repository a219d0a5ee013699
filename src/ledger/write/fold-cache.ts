/** @module Cached folds of long runs, under a mac: a file that anybody can write must not decide anything. Losing one loses nothing. */

import { createHmac, timingSafeEqual } from 'node:crypto'
import { runProjection } from '../../../projections/run.ts'
import type { RunState } from '../../../projections/run-state.ts'
import { dumpEvidence, type EvidenceDump, loadEvidence } from '../../domain/validator/evidence.ts'
import { weigh } from '../../resources/memory-budget.ts'
import type { WorkQueue } from '../../resources/work-queue.ts'
import type { FoldRow, ViewStore } from '../../store/view-store.ts'
import type { VerifyDeps } from '../read/verified-events.ts'
import type { Head, RunAggregate } from './run-aggregate.ts'

const FOLD_PROJECTION = `${runProjection.name}/${runProjection.version}`
const FOLD_PREFIX = 'countersign/fold/v4\n'
/** Parsed, a state takes at most about so many bytes for each character of its text. */
const STATE_TEXT_FACTOR = 6
/** A tail this long is worth a cached fold. */
export const CACHE_EVERY_EVENTS = 1_000

export interface LoadDeps extends VerifyDeps {
  readonly views: ViewStore
  /** Whose turns large events are folded in; absent: one after the other. */
  readonly work?: WorkQueue | undefined
}

interface CachedFold {
  readonly state: RunState
  readonly evidence: EvidenceDump
  readonly head: Head
}

/** Keeps the fold of an idle run. A view store that cannot take it costs time at the next load, and nothing else. */
export function saveFold(deps: LoadDeps, run: RunAggregate): void {
  if (run.state === undefined || run.head === undefined || !run.idle || run.dead || run.paused !== undefined) return
  const fold: CachedFold = { state: run.state, evidence: dumpEvidence(run.evidence), head: run.head }
  const text = JSON.stringify(fold)
  run.stateBytes = Math.min(run.stateBytes, STATE_TEXT_FACTOR * text.length)
  const { kid } = deps.sealer
  const mac = foldMac(deps, run, { kid, text })
  if (mac === undefined) return
  const { revision } = run.head
  const row: FoldRow = { stream: run.stream, revision, projection: FOLD_PROJECTION, text, mac: `${kid}.${mac}` }
  // Also where it fails: the next try is due after as many events again.
  run.cachedRevision = revision
  orNothing(() => deps.views.saveFold(row))
}

/** Takes a cached fold over, where there is one that is whole. Whether the stream still holds its head is the caller's to see. */
export function takeFold(deps: LoadDeps, run: RunAggregate): void {
  const cached = orNothing(() => readFold(deps, run))
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

function readFold(deps: LoadDeps, run: RunAggregate): CachedFold | undefined {
  const row = deps.views.loadFold(run.stream, FOLD_PROJECTION)
  if (row === undefined) return undefined
  const dot = row.mac.lastIndexOf('.')
  const expected = foldMac(deps, run, { kid: row.mac.slice(0, dot), text: row.text })
  if (expected === undefined || !sameText(row.mac.slice(dot + 1), expected)) return undefined
  const fold = JSON.parse(row.text) as CachedFold
  return fold.head.revision === row.revision ? fold : undefined
}

function foldMac(deps: LoadDeps, run: RunAggregate, fold: { kid: string; text: string }): string | undefined {
  const key = deps.sealer.keyOf(fold.kid, run.tenant, run.stream)
  if (key === undefined) return undefined
  return createHmac('sha256', key)
    .update(`${FOLD_PREFIX}${FOLD_PROJECTION}\n${run.stream}\n`)
    .update(fold.text)
    .digest('base64url')
}

function sameText(value: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(value), Buffer.from(wanted)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function orNothing<T>(use: () => T): T | undefined {
  try {
    return use()
  } catch {
    return undefined
  }
}
