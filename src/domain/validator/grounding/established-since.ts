/** @module The event that established each value of the context, as a tree of changed places only; and the handoff behind a finding's value (JUD-26). */

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

/** The tree after an event changed the context. The tree passed in is modified and must not be used again. Unchanged values cost one comparison each. */
export function sinceAfter(since: Since, [before, after]: readonly [Json, Json], revision: number): Since {
  if (before === after) return since
  if (!isContainer(before) || !isContainer(after) || Array.isArray(before) !== Array.isArray(after)) return { revision }
  let { below } = since
  let retainedKeys = 0
  for (const key of Object.keys(after)) {
    const [was, is] = [before[key] as Json, after[key] as Json]
    // A context value is never identical to an inherited member, and no inherited member is a string or a number; only other values need `hasOwn`.
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

/** The own child of a key. A loaded tree has a prototype, so a key such as `constructor` must not find an inherited member. */
function childOf(below: Below | undefined, key: string): Since | undefined {
  const child = below?.[key]
  return typeof child?.revision === 'number' ? child : undefined
}

/** Adds to findings on established values the step that established them; other findings stay unchanged. `since` must be of the same state. */
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

/** The agent whose handoff established the value of a place; empty for a value that the run started with. */
export function agentAt({ lineage }: Pick<RunState, 'lineage'>, place: readonly string[], since: Since): string {
  return stepAt(lineage, sinceAt(since, place)).agent
}

/** The last step at or before a revision; the first step if there is none, because values from the start of the run were never changed. */
function stepAt(lineage: readonly EstablishedStep[], revision: number): EstablishedStep {
  let [low, high] = [0, lineage.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((lineage[middle] as EstablishedStep).revision <= revision) low = middle
    else high = middle - 1
  }
  return lineage[low] as EstablishedStep
}
