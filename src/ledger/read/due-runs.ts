/** @module Waits until a worker has a run to carry on; an idle wait reads nothing but the events that may end it (RUN-222). */
import { mayMakeDue, mayMakeRoom } from '../../../projections/run-due.ts'
import type { Caller, DueQuery, DueRuns, Ledger } from '../ledger.ts'
import type { RunList } from './run-list.ts'

/** Longest delay of a timer. */
const TIMER_MAX_MS = 2 ** 31 - 1

interface DueRunsDeps {
  readonly list: Pick<RunList, 'due'>
  readonly history: Pick<Ledger, 'tail' | 'end'>
}

interface Asked {
  readonly caller: Caller
  readonly query: DueQuery
}

export async function dueRunsOf(
  deps: DueRunsDeps,
  asked: Asked,
  { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<DueRuns> {
  const over = new AbortController()
  const end = (): void => over.abort()
  const timer = setTimeout(end, Math.min(waitMs, TIMER_MAX_MS))
  signal.addEventListener('abort', end)
  if (signal.aborted || waitMs <= 0) end()
  try {
    return await firstDue(deps, asked, over.signal)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  }
}

async function firstDue({ list, history }: DueRunsDeps, { caller, query }: Asked, over: AbortSignal): Promise<DueRuns> {
  for (;;) {
    // Read before the list, so that nothing is missed in between.
    const after = await history.end()
    const found = await list.due(caller, query)
    if (found.items.length > 0 || over.aborted) return found
    const from = after === undefined ? {} : { after }
    const atMostMs = found.nextMs ?? TIMER_MAX_MS
    const isOf = found.isFull === true ? mayMakeRoom : mayMakeDue
    const goesOn = await mayBeDue((signal) => history.tail(caller, from, signal), { atMostMs, over, isOf })
    // Nothing is read for a caller who is gone, or whose token has ended: the empty list is the answer.
    if (!goesOn || over.aborted) return found
  }
}

interface Waiting {
  readonly atMostMs: number
  readonly over: AbortSignal
  /** Whether an event of this type may end the wait. */
  readonly isOf: (type: string) => boolean
}

/** Resolves after an event that may make a run due, after the time, or when the wait is over; with false if no more events are to be had. */
async function mayBeDue(
  tail: (signal: AbortSignal) => ReturnType<Ledger['tail']>,
  { atMostMs, over, isOf }: Waiting,
): Promise<boolean> {
  const ending = new AbortController()
  const end = (): void => ending.abort()
  // One millisecond more, because a timer may fire early.
  const timer = setTimeout(end, Math.min(atMostMs + 1, TIMER_MAX_MS))
  over.addEventListener('abort', end)
  if (over.aborted) end()
  try {
    for await (const page of tail(ending.signal)) {
      if (page !== 'caught-up' && page.some(({ header }) => isOf(header.type))) return true
      if (ending.signal.aborted) return true
    }
    return ending.signal.aborted
  } finally {
    clearTimeout(timer)
    over.removeEventListener('abort', end)
  }
}
