/** @module Which handoff established what a finding is about: step, revision and event, out of the run's own steps (JUD-26). */
import type { EstablishedStep, RunState } from '../../projections/run-state.ts'
import type { Finding } from '../../schemas/finding.ts'
import { parsePointer, valueAt } from '../../schemas/json-pointer.ts'
import { type Since, sinceAt } from './validator/grounding/established-since.ts'

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
