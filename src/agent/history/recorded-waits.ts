/** @module Waits in a run's record, each represented as a call with one attempt. */
import type { EventBody } from '../../../schemas/events.ts'
import type { Json } from '../../../schemas/json.ts'
import { TIMED_OUT, waitCallKey, waitTool } from '../waits/wait-call.ts'
import type { RecordedOutcome } from './recorded-outcome.ts'

interface Attempt {
  readonly claimedAt: string
  endedAt?: string
  endedAfter?: number
  outcome?: RecordedOutcome
}

/** Represents a wait as a call that was claimed and has no outcome. */
export function recordedWait(
  data: EventBody<'WaitStarted'>,
  { runId, time, after }: { runId: string; time: string; after: number },
) {
  const { waitId, name, until = null, scope, occurrence = 0, parentCall } = data
  const [tool, key, args] = [waitTool(name), waitCallKey({ name, scope, occurrence }), { waitId, until }]
  const call = { callId: waitId, key, tool, phase: 'forward', args, argsDigest: '', compensate: 'not-needed' } as const
  const attempts: Attempt[] = [{ claimedAt: time }]
  return { ...call, scope, occurrence, parentCall, requestedAfter: after, runId, attempts }
}

/** `after`: number of events that had been recorded by then. */
export function endWait(
  wait: { readonly attempts: readonly Attempt[] } | undefined,
  { time, after, outcome }: { readonly time: string; readonly after: number; readonly outcome: RecordedOutcome },
): void {
  const attempt = wait?.attempts[0]
  if (attempt !== undefined) Object.assign(attempt, { endedAt: time, endedAfter: after, outcome })
}

/** The outcome of a wait: the payload of the signal, `null`, or a timeout. */
export function waitOutcome(outcome: EventBody<'WaitEnded'>['outcome'], payload: Json = null): RecordedOutcome {
  return outcome === 'timed-out' ? TIMED_OUT : { kind: 'succeeded', result: payload }
}
