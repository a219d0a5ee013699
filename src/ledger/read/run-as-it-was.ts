/** @module The state of a run as it was right after one of its events: folded from the verified record up to there. */
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
  /** The run's last revision. */
  readonly now: number
}

/** What `render` says of it. What a claim's lease came to is judged by the moment's own time, never by this process's clocks. */
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

/** `head`: the run's last event. Reads of the store come after the state is known to be durable: they may be about its newest events. */
export type Render<T> = (
  state: RunState,
  head: { readonly revision: number; readonly digest: string },
  leases: Leases,
) => T | (() => Promise<T>)

/** Whether there is something to read before it can be answered. */
export function isLater<T>(rendered: T | (() => Promise<T>)): rendered is () => Promise<T> {
  return typeof rendered === 'function'
}
