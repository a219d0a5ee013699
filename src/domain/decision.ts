/**
 * @module What a decision is: a pure function of a run's state, a command, and what the edge knows (time, ids, actor), to the
 * events that record it, an answer that needs none, or a refusal; and the rules that hold for every command on a run.
 */

import { refusalKey } from '../../projections/refusals.ts'
import {
  type CallState,
  REFUSALS_PER_WINDOW,
  type ReservationState,
  type RunState,
} from '../../projections/run-state.ts'
import type { EventBody, RunEventType } from '../../schemas/events.ts'
import type { Json } from '../../schemas/json.ts'
import type { Sent } from './redaction/sent.ts'
import { type Refusal, refusal } from './refusal.ts'

/** An event before it is sealed. */
export type Draft = { [T in RunEventType]: { readonly type: T; readonly data: EventBody<T> } }[RunEventType]

export type Decision =
  /** The ledger adds to an EnvelopeAccepted the snapshot of the state that it leads to. */
  | { readonly kind: 'append'; readonly drafts: readonly Draft[] }
  /** The context established at `revision` must be read first; ask again with it. */
  | { readonly kind: 'needs-context'; readonly revision: number }
  /** The events at these revisions must be read first; ask again with them. */
  | { readonly kind: 'needs-events'; readonly revisions: readonly number[] }
  /** Nothing to record: what was requested is on record already, at `callId`. */
  | { readonly kind: 'recorded-call'; readonly callId: string }
  /** Nothing to record and nothing to read: the run's own state answers. */
  | { readonly kind: 'as-is' }
  /** `record` is the signed fact of the refusal, where it is one to keep; `before` are facts met on the way, appended with it. */
  | { readonly kind: 'refuse'; readonly refusal: Refusal; readonly record?: Draft; readonly before?: readonly Draft[] }

export type Refused = Extract<Decision, { kind: 'refuse' }>

/** What the edge hands in. */
export interface Env {
  /** The writer's clock, milliseconds since the epoch. */
  readonly nowMs: number
  /** Milliseconds that are left of a claimed call's lease; below zero once it is over. */
  readonly leaseLeftMs: (call: CallState, state: RunState) => number
  /** Of an open reservation; below zero once it is past its deadline. */
  readonly reservationLeftMs: (reservation: ReservationState, state: RunState) => number
  readonly actor: string
  /** For whom the actor acts, where the token says so. */
  readonly principal?: string | undefined
  /** Through whom that came to the actor, where the token says so. */
  readonly via?: readonly string[] | undefined
  /** Of the token: what its bearer may decide. */
  readonly roles?: readonly string[] | undefined
  readonly newId: () => string
  /** `sha256:` digest over the JCS bytes of a JSON value (an object type, so that parsed requests fit). */
  readonly digestOf: (value: Json | object) => string
  /** Canonical size of a value in bytes. */
  readonly sizeOf: (value: Json) => number
  readonly ledgerId: string
  /** Digest of the stream's last event; undefined before the first. */
  readonly headDigest: string | undefined
  /** What was sent, where the run's policy left something out of it. */
  readonly sent?: Sent | undefined
}

/** Clocks of two processes may differ by this much before one believes that a deadline has passed (STR-2). */
export const DEADLINE_GRACE_MS = 2_000

/** Now, for every deadline of a run: the later of the writer's clock and the stream's own time. */
export function nowMsOf(state: RunState, env: Pick<Env, 'nowMs'>): number {
  return Math.max(env.nowMs, Date.parse(state.time))
}

/**
 * A deadline from now on. It counts from the same now that it is judged by: a writer whose clock lags behind the stream must not
 * give leases that are over before they begin.
 */
export function timeAfter(ms: number, state: RunState, env: Env): string {
  return new Date(nowMsOf(state, env) + ms).toISOString()
}

export const append = (...drafts: readonly Draft[]): Decision => ({ kind: 'append', drafts })
export const refuse = (refusal: Refusal, record?: Draft): Refused =>
  record === undefined ? { kind: 'refuse', refusal } : { kind: 'refuse', refusal, record }

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
 * once a run; past the window's share it answers 429 and records nothing (STR-12). To the code of the run (`runFence`) each is an answer, and recorded (RUN-191).
 */
export function refuseOnRecord(
  state: RunState,
  env: Env,
  inputs: { refusal: Refusal; fingerprint: Json; runFence?: number | undefined },
): Refused {
  const fingerprint = env.digestOf(inputs.fingerprint)
  const record: Draft = { type: 'RequestRefused', data: refusedBody(inputs.refusal, fingerprint) }
  return recordOnce(state, env, { refusal: inputs.refusal, record, fingerprint, runFence: inputs.runFence })
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
  input: { refusal: Refusal; record: Draft; fingerprint: string; runFence?: number | undefined },
): Refused {
  if (input.runFence !== undefined) return refuse(input.refusal, input.record)
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
