/** @module The state of a run right after one of its events, folded from the verified events up to there. */
import type { RunState } from '../../../projections/run-state.ts'
import { runStream } from '../../../schemas/names.ts'
import { leaseLeftByWall } from '../../domain/lease.ts'
import { refusal } from '../../domain/refusal.ts'
import type { Caller, Found } from '../ledger.ts'
import { clockAt, type RunAt } from '../run-at.ts'
import type { Reader } from './reader.ts'
import type { Leases } from './run-bodies.ts'

interface Past {
  readonly runId: string
  readonly at: RunAt
  /** The last revision of the run. */
  readonly now: number
}

/** Renders that state. The leases of claims are judged by the time of that point, never by the clocks of this process. */
export async function readAsItWas<T>(
  reader: Pick<Reader, 'stateAt' | 'eventAt'>,
  { tenant, pace }: Caller,
  { runId, at, now }: Past,
  render: Render<T>,
): Promise<Found<T>> {
  const { revision } = at
  if (revision < 0 || revision > now) {
    const detail = `the run has no event ${revision}: its last one is ${now}`
    return { ok: false, refusal: refusal('unknown-step', detail, { evidence: { revision: now } }) }
  }
  const stream = runStream(tenant, runId)
  const state = await reader.stateAt(stream, revision, pace)
  const event = await reader.eventAt(stream, revision)
  const atMs = clockAt(at, state.time)
  const head = { revision, digest: event?.digest ?? '' }
  const rendered = render(state, head, { leftMs: (call) => leaseLeftByWall(call, state, atMs) })
  return { ok: true, revision, value: isLater(rendered) ? await rendered() : rendered }
}

/**
 * `head`: the last event of the run. A function that is returned reads the store after the state is known to be durable, since it may read the newest
 * events.
 */
export type Render<T> = (
  state: RunState,
  head: { readonly revision: number; readonly digest: string },
  leases: Leases,
) => T | (() => Promise<T>)

/** Whether something has to be read before the result is complete. */
export function isLater<T>(rendered: T | (() => Promise<T>)): rendered is () => Promise<T> {
  return typeof rendered === 'function'
}
