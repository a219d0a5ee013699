/** @module Rules that hold for every command on a run. */
import { refusalKey } from '../../projections/refusals.ts'
import { REFUSALS_PER_WINDOW, type RunState } from '../../projections/run-state.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { Json } from '../../schemas/json.ts'
import { type Draft, type Env, nowMsOf, type Refused, refuse } from './decision.ts'
import { type Refusal, refusal } from './refusal.ts'

/** Refusals are recorded at most `REFUSALS_PER_WINDOW` times in this window. */
const REFUSAL_WINDOW_MS = 60_000

/** Refused where the run has ended, or was taken over by a newer owner. */
export function mustBeOpen(state: RunState, runFence?: number): Refusal | undefined {
  if (state.status !== 'open') {
    return refusal('run-ended', `the run has ended (${state.status}); start another run`, {
      evidence: { status: state.status },
    })
  }
  return mustOwn(state, runFence)
}

/** Refused where a newer owner has resumed the run since. */
export function mustOwn(state: RunState, runFence: number | undefined): Refusal | undefined {
  if (runFence !== undefined && runFence < state.fence) {
    return refusal('run-taken-over', 'another owner has resumed this run since; only open calls may still be settled', {
      evidence: { expected: runFence, actual: state.fence },
    })
  }
  return undefined
}

/** Refused where a rollback has closed the scope (or the run). */
export function mustNotCompensate(state: RunState, scope?: string): Refusal | undefined {
  const closing = state.compensations.find((each) => covers(each.scope, scope))
  if (closing === undefined) return undefined
  return refusal('compensating', 'a rollback has closed this scope: nothing new starts in it', {
    evidence: { compensationId: closing.compensationId, scope: closing.scope ?? null },
  })
}

/** Refused while a fork is open: its branches see a frozen context, and nothing else may change it. */
export function mustNotBeForked({ openFork }: RunState): Refusal | undefined {
  if (openFork === undefined) return undefined
  return refusal('fork-open', 'a fork is open: the context stays as its branches see it until they are joined', {
    evidence: { forkId: openFork },
  })
}

/** A scope covers itself and the paths below it; no scope covers the whole run. */
export function covers(scope: string | undefined, inner: string | undefined): boolean {
  if (scope === undefined) return true
  return inner !== undefined && (inner === scope || inner.startsWith(`${scope}/`))
}

/**
 * Refuses and records it: the refusal is evidence that the gate works. An equal one (actor, code, fingerprint) is recorded
 * once a run; past the window's share it answers 429 and records nothing (STR-12).
 */
export function refuseOnRecord(state: RunState, env: Env, inputs: { refusal: Refusal; fingerprint: Json }): Refused {
  const fingerprint = env.digestOf(inputs.fingerprint)
  const record: Draft = { type: 'RequestRefused', data: refusedBody(inputs.refusal, fingerprint) }
  return recordOnce(state, env, { refusal: inputs.refusal, record, fingerprint })
}

/** The body of RequestRefused: what the answer holds, so that it can be repeated. */
export function refusedBody(refusal: Refusal, fingerprint: string): EventBody<'RequestRefused'> {
  const { code, detail, pointer, evidence } = refusal
  return {
    v: 1,
    code,
    fingerprint,
    detail,
    ...(pointer === undefined ? {} : { pointer }),
    ...(evidence === undefined ? {} : { evidence: evidence as EventBody<'RequestRefused'>['evidence'] }),
  }
}

export function recordOnce(
  state: RunState,
  env: Env,
  input: { refusal: Refusal; record: Draft; fingerprint: string },
): Refused {
  if (state.refusals[refusalKey(env.actor, input.refusal.code, input.fingerprint)] !== undefined) {
    return refuse(input.refusal)
  }
  const oldest = state.refusalTimes[0]
  const full = state.refusalTimes.length >= REFUSALS_PER_WINDOW && oldest !== undefined
  const waitMs = full ? REFUSAL_WINDOW_MS - (nowMsOf(state, env) - Date.parse(oldest)) : 0
  if (waitMs > 0) {
    return refuse(
      refusal(
        'refusals-exhausted',
        `this run was refused ${REFUSALS_PER_WINDOW} times within a minute; wait, and mend the caller`,
        {
          retryAfterMs: waitMs,
          evidence: { refused: input.refusal.code },
        },
      ),
    )
  }
  return refuse(input.refusal, input.record)
}
