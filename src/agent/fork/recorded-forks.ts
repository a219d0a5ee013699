/** @module The forks of a run's record: branches, what each reported, and the verdict. A pure fold. */
import type { EventBody } from '../../../schemas/events.ts'
import type { RunEvent } from '../runtime/connection.ts'

type Report = EventBody<'BranchOffered'> | EventBody<'BranchReceived'>

export interface RecordedFork {
  /** How many events of the run had been recorded with its start. */
  readonly index: number
  readonly started: EventBody<'ForkStarted'>
  /** What each branch reported, by its name, in the order in which it came. */
  readonly reports: Map<string, Report>
  verdict?: { readonly index: number; readonly body: EventBody<'ForkJoined'> }
}

/** Takes events of forks alone: their start, reports and joins. */
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
    // The join only says how an offer ended: what was offered stays.
    if (report.report !== undefined) fork.reports.set(report.branch, report)
  }
}

export function isOffer(report: Report | undefined): report is EventBody<'BranchOffered'> {
  return report !== undefined && 'output' in report && !('status' in report)
}
