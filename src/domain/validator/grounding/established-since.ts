/** @module Since which event each value of the context stands: a tree that holds the places that have changed, and nothing else; and which handoff established what a finding is about (JUD-26). */

import type { EstablishedStep, RunState } from '../../../../projections/run-state.ts'
import type { Finding } from '../../../../schemas/finding.ts'
import type { Json } from '../../../../schemas/json.ts'
import { parsePointer, type Token, valueAt } from '../../../../schemas/json-pointer.ts'

export interface Since {
  readonly revision: number
  readonly below?: Below | undefined
}

type Below = { [key: string]: Since }

export const SINCE_START: Since = { revision: -1 }

/** The tree after a change of the context at an event: the one before it, changed, which is of no use any more. What stands as it stood costs a look. */
export function sinceAfter(since: Since, [before, after]: readonly [Json, Json], revision: number): Since {
  if (before === after) return since
  if (!isContainer(before) || !isContainer(after) || Array.isArray(before) !== Array.isArray(after)) return { revision }
  let { below } = since
  let retainedKeys = 0
  for (const key of Object.keys(after)) {
    const [was, is] = [before[key] as Json, after[key] as Json]
    // No value of a context is what an object inherits, and no object inherits a text or a number.
    const isRetained = was === is || typeof was === 'string' || typeof was === 'number' || Object.hasOwn(before, key)
    if (isRetained) retainedKeys += 1
    if (was === is) continue
    const known = childOf(below, key) ?? { revision: since.revision }
    const now = isRetained ? sinceAfter(known, [was, is], revision) : { revision }
    if (now === known) continue
    below ??= Object.create(null) as Below
    below[key] = now
  }
  if (below !== undefined && retainedKeys < Object.keys(before).length) forgetRemoved(below, after)
  return below === since.below ? since : { revision: since.revision, below }
}

function forgetRemoved(below: Below, after: { readonly [key: string]: Json }): void {
  for (const key of Object.keys(below)) if (!Object.hasOwn(after, key)) delete below[key]
}

export function sinceAt(since: Since, place: readonly Token[]): number {
  let here = since
  for (const token of place) {
    const next = childOf(here.below, `${token}`)
    if (next === undefined) break
    here = next
  }
  return here.revision
}

function isContainer(value: Json): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null
}

/** Of a tree that was loaded, too: a key may be called as a member that every object has. */
function childOf(below: Below | undefined, key: string): Since | undefined {
  const child = below?.[key]
  return typeof child?.revision === 'number' ? child : undefined
}

/** Findings about something established, each with what established it; others as they are. `since` is as old as the state. */
export function withEstablishingStep(
  findings: readonly Finding[],
  { context, lineage }: Pick<RunState, 'context' | 'lineage'>,
  since: Since,
): Finding[] {
  return findings.map((finding) => {
    const tokens = finding.before === undefined ? undefined : parsePointer(finding.of ?? finding.path)
    if (tokens === undefined || valueAt(context, tokens) === undefined) return finding
    const { step, revision, eventId } = stepAt(lineage, sinceAt(since, tokens))
    return { ...finding, established: { step, revision, eventId } }
  })
}

/** The agent whose handoff established the value of a place. Empty for what the run began with. */
export function agentAt({ lineage }: Pick<RunState, 'lineage'>, place: readonly string[], since: Since): string {
  return stepAt(lineage, sinceAt(since, place)).agent
}

/** The last step no later than a revision; the first one where there is none: what a run begins with was never changed. */
function stepAt(lineage: readonly EstablishedStep[], revision: number): EstablishedStep {
  let [low, high] = [0, lineage.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((lineage[middle] as EstablishedStep).revision <= revision) low = middle
    else high = middle - 1
  }
  return lineage[low] as EstablishedStep
}
