/** @module Decides commands of one run that arrived together: in order, and as far as possible without waiting for each other's disk write. */
import type { Refusal } from '../../domain/refusal.ts'
import type { Outcome } from '../ledger.ts'
import { AGAIN, type Attempt } from './appender.ts'
import type { PendingCommand } from './decide.ts'
import type { RunAggregate } from './run-aggregate.ts'
import { notAttempted, refused } from './write-refusals.ts'

/** The steps of deciding one command. */
export interface DecidingOne {
  readonly load: (
    pending: PendingCommand,
  ) => { hot: RunAggregate } | { refusal: Refusal } | Promise<{ hot: RunAggregate } | { refusal: Refusal }>
  readonly pass: (pending: PendingCommand) => Promise<unknown> | undefined
  readonly attempt: (run: RunAggregate, pending: PendingCommand) => Attempt | Promise<Attempt>
  readonly answered: (pending: PendingCommand, settled: Attempt['settled']) => Promise<Outcome | 'again'>
  /** Decides the command on its own until it is answered. */
  readonly settled: (pending: PendingCommand) => Promise<Outcome>
}

export async function decidedInOrder(jobs: readonly PendingCommand[], by: DecidingOne): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  let envelopeRefused = false
  while (outcomes.length < jobs.length) {
    const rest = jobs.slice(outcomes.length)
    const tries = await tryAhead(rest, { by, envelopeRefused })
    for (const [index, pending] of rest.slice(0, tries.length).entries()) {
      const envelope = pending.command.kind === 'envelope'
      const tried = await by.answered(pending, tries[index]?.settled ?? AGAIN.settled)
      const skipped: boolean = envelope && envelopeRefused
      const outcome: Outcome =
        tried === 'again' ? await (skipped ? refused(notAttempted()) : by.settled(pending)) : tried
      envelopeRefused ||= envelope && !outcome.ok
      outcomes.push(outcome)
    }
  }
  return outcomes
}

/** Decides as many commands as possible now. After a refused envelope, later ones are left until its outcome is known. */
async function tryAhead(
  jobs: readonly PendingCommand[],
  { by, envelopeRefused }: { readonly by: DecidingOne; readonly envelopeRefused: boolean },
): Promise<Attempt[]> {
  const [first] = jobs
  const run = first === undefined ? undefined : await by.load(first)
  if (run === undefined || 'refusal' in run) return [AGAIN]
  const tries: Attempt[] = []
  let refusedOne = envelopeRefused
  for (const pending of jobs) {
    const turn = by.pass(pending)
    // The run may have been dropped in the meantime; the item is then left for the next round.
    if (turn !== undefined) await turn
    while (run.hot.paused !== undefined) await run.hot.paused
    const skipped = refusedOne && pending.command.kind === 'envelope'
    const trying = skipped ? AGAIN : by.attempt(run.hot, pending)
    const attempt = trying instanceof Promise ? await trying : trying
    // Results are awaited in order later; this keeps an earlier failure from being an unhandled rejection.
    attempt.settled.catch(() => undefined)
    tries.push(attempt)
    if (pending.command.kind === 'envelope' && attempt.refusedNow) refusedOne = true
    if (attempt.undecided === true && !skipped) break
  }
  return tries
}
