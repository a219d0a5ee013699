/** @module The state of a run as it was right after one of its events: folded from the verified record up to there. */
import type { JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { leaseLeftByWall } from '../../domain/lease.ts'
import { refusal } from '../../domain/refusal.ts'
import type { Caller, Found } from '../ledger.ts'
import type { RunAt } from '../run-at.ts'
import type { Reader } from './reader.ts'
import { runBody } from './run-bodies.ts'

/** `now`: the run's last revision. What a claim's lease came to is judged by the moment's own time, never by this process's clocks. */
export async function runAsItWas(
  reader: Pick<Reader, 'stateAt' | 'eventAt'>,
  { tenant, pace }: Caller,
  { runId, at, now }: { readonly runId: string; readonly at: RunAt; readonly now: number },
): Promise<Found<JsonObject>> {
  const { revision, timeMs } = at
  if (revision < 0 || revision > now) {
    const detail = `the run has no event ${revision}: its last one is ${now}`
    return { ok: false, refusal: refusal('unknown-step', detail, { evidence: { revision: now } }) }
  }
  const stream = runStream(tenant, runId)
  const state = await reader.stateAt(stream, revision, pace)
  const event = await reader.eventAt(stream, revision)
  const atMs = timeMs ?? Date.parse(state.time)
  const head = { revision, digest: event?.digest ?? '' }
  return {
    ok: true,
    revision,
    value: runBody(state, head, { leftMs: (call) => leaseLeftByWall(call, state, atMs) }),
  }
}
