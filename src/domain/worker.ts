/** @module How the code of a worker keeps the run that it carries, and how it leaves it open (RUN-223, RUN-224, RUN-226). */
import type { RunState } from '../../projections/run-state.ts'
import type { CarryRun, LeaveRun } from '../../schemas/requests.ts'
import { append, type Decision, type Env, mustBeOpen, nowMsOf, refuse, timeAfter } from './decision.ts'
import { type Refusal, refusal } from './refusal.ts'

/** The refusal unless the run is open and this is the fence of its latest life: a fence that was never issued belongs to no worker. */
function mustBeOwner(state: RunState, runFence: number): Refusal | undefined {
  const closed = mustBeOpen(state, runFence)
  if (closed !== undefined || runFence === state.fence) return closed
  return refusal('run-taken-over', 'the run has no such fence: name the one with which it was resumed', {
    evidence: { expected: runFence, actual: state.fence },
  })
}

/** Only the current owner leaves a run; a run that is left as stuck is left alone for a while, until somebody asks that it be tried again. */
export function decideLeave(state: RunState, body: LeaveRun, env: Env): Decision {
  const closed = mustBeOwner(state, body.runFence)
  if (closed !== undefined) return refuse(closed)
  if (body.because === 'retry' && state.stuckFence !== state.fence) return refuse(notStuck)
  const { because, error, retryAfterMs } = body
  const left = { v: 1, fence: state.fence, because } as const
  if (error === undefined || retryAfterMs === undefined) return append({ type: 'RunLeft', data: left })
  const { attempts = 0, since = new Date(nowMsOf(state, env)).toISOString() } = state.stuck ?? {}
  const until = timeAfter(retryAfterMs, state, env)
  return append({ type: 'RunLeft', data: { ...left, error, attempts: attempts + 1, since, until } })
}

const notStuck = refusal('run-owned', 'the run is not stuck, or is being tried again already')

/** The time of the event begins the hold of the run's worker anew. */
export function decideCarried(state: RunState, { runFence }: CarryRun): Decision {
  const closed = mustBeOwner(state, runFence)
  if (closed !== undefined) return refuse(closed)
  return append({ type: 'RunCarried', data: { v: 1, fence: state.fence } })
}
