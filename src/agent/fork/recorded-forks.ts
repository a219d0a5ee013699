/** @module The recorded forks of a run: branches, their reports, and the verdict. A pure fold. */
import type { EventBody } from '../../../schemas/events.ts'
import type { RunEvent } from '../runtime/connection.ts'

type Report = EventBody<'BranchOffered'> | EventBody<'BranchReceived'>

export interface RecordedFork {
  /** Number of events of the run up to and including the start of the fork. */
  readonly index: number
  readonly started: EventBody<'ForkStarted'>
  /** The report of each branch by name, in order of arrival. */
  readonly reports: Map<string, Report>
  verdict?: { readonly index: number; readonly body: EventBody<'ForkJoined'> }
}

/** Folds the events of forks and ignores all others. */
export function foldForks(forks: RecordedFork[], { type, data }: RunEvent, index: number): void {
  if (type === 'ForkStarted') {
    forks.push({ index, started: data as unknown as EventBody<'ForkStarted'>, reports: new Map() })
    return
  }
  const fork = forks.find(({ started }) => started.forkId === data.forkId)
  if (fork === undefined) return
  if (type === 'ForkJoined') fork.verdict = { index, body: data as unknown as EventBody<'ForkJoined'> }
  else {
    const report = data as unknown as Report
    // The join's own events only say how an offer ended; they must not replace the offer.
    if (report.report !== undefined) fork.reports.set(report.branch, report)
  }
}

export function isOffer(report: Report | undefined): report is EventBody<'BranchOffered'> {
  return report !== undefined && 'output' in report && !('status' in report)
}
