/**
 * @module The type of a decision: a pure function of a run's state, a command and the environment (time, ids, actor) that returns events
 * to append, an answer that needs no event, or a refusal. Also the rules that apply to every command on a run.
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
import type { PolicyObject } from '../../schemas/policy.ts'
import type { Sent } from './redaction/sent.ts'
import { type Refusal, refusal } from './refusal.ts'

/** An event before it is sealed. */
export type Draft = { [T in RunEventType]: { readonly type: T; readonly data: EventBody<T> } }[RunEventType]

export type Decision =
  /** Events to append. To an EnvelopeAccepted the ledger adds the snapshot of the resulting state. */
  | { readonly kind: 'append'; readonly drafts: readonly Draft[] }
  /** The context established at `revision` must be read first; the decision is then made again with it. */
  | { readonly kind: 'needs-context'; readonly revision: number }
  /** The events at these revisions must be read first; the decision is then made again with them. */
  | { readonly kind: 'needs-events'; readonly revisions: readonly number[] }
  /** Nothing to append: the request is already recorded, at `callId`. */
  | { readonly kind: 'recorded-call'; readonly callId: string }
  /** Nothing to append or to read: the state of the run is the answer. */
  | { readonly kind: 'as-is' }
  /** `record` is the signed record of the refusal, if it is to be kept; `before` are other events found necessary, appended with it. */
  | { readonly kind: 'refuse'; readonly refusal: Refusal; readonly record?: Draft; readonly before?: readonly Draft[] }

export type Refused = Extract<Decision, { kind: 'refuse' }>

/** Inputs from the environment of a decision. */
export interface Env {
  /** The writer's clock, in milliseconds since the epoch. */
  readonly nowMs: number
  /** Milliseconds left of the lease of a claimed call; negative once the lease has expired. */
  readonly leaseLeftMs: (call: CallState, state: RunState) => number
  /** Milliseconds left of an open reservation; negative once it is past its deadline. */
  readonly reservationLeftMs: (reservation: ReservationState, state: RunState) => number
  readonly actor: string
  /** The principal that the actor acts for, if the token names one. */
  readonly principal?: string | undefined
  /** The intermediaries through which the request came to the actor, if the token names them. */
  readonly via?: readonly string[] | undefined
  /** Roles of the token: which decisions its bearer may make. */
  readonly roles?: readonly string[] | undefined
  readonly newId: () => string
  /** `sha256:` digest over the JCS bytes of a JSON value (an object type, so that parsed requests fit). */
  readonly digestOf: (value: Json | object) => string
  /** Canonical size of a value, in bytes. */
  readonly sizeOf: (value: Json) => number
  readonly ledgerId: string
  /** Digest of the stream's last event; undefined before the first event. */
  readonly headDigest: string | undefined
  /** What the operator's policy for the tenant says now; undefined if there is none. */
  readonly tenantPolicy?: Pick<PolicyObject, 'claimFirst' | 'redaction'> | undefined
  /** The command as sent, if the run's policy redacted a part of it. */
  readonly sent?: Sent | undefined
}

/** Assumed maximum clock skew between two processes, in milliseconds: a deadline counts as passed only after this grace (STR-2). */
export const DEADLINE_GRACE_MS = 2_000

/** The current time for every deadline of a run: the later of the writer's clock and the stream's own time. */
export function nowMsOf(state: RunState, env: Pick<Env, 'nowMs'>): number {
  return Math.max(env.nowMs, Date.parse(state.time))
}

/**
 * A deadline `ms` from now. It uses the same "now" as the check of the deadline, so that a writer whose clock lags behind the stream does
 * not grant leases that have already expired.
 */
export function timeAfter(ms: number, state: RunState, env: Env): string {
  return new Date(nowMsOf(state, env) + ms).toISOString()
}

export const append = (...drafts: readonly Draft[]): Decision => ({ kind: 'append', drafts })
export const refuse = (refusal: Refusal, record?: Draft): Refused =>
  record === undefined ? { kind: 'refuse', refusal } : { kind: 'refuse', refusal, record }

/** Window in milliseconds in which at most `REFUSALS_PER_WINDOW` refusals are recorded. */
const REFUSAL_WINDOW_MS = 60_000

/** The refusal if the run has ended or a newer owner has taken it over. */
export function mustBeOpen(state: RunState, runFence?: number): Refusal | undefined {
  if (state.status !== 'open') {
    return refusal('run-ended', `the run has ended (${state.status}); start another run`, {
      evidence: { status: state.status },
    })
  }
  return mustOwn(state, runFence)
}

/** The refusal if a newer owner has resumed the run since. */
export function mustOwn(state: RunState, runFence: number | undefined): Refusal | undefined {
  if (runFence !== undefined && runFence < state.fence) {
    return refusal('run-taken-over', 'another owner has resumed this run since; only open calls may still be settled', {
      evidence: { expected: runFence, actual: state.fence },
    })
  }
  return undefined
}

/** The refusal if a rollback has closed the scope or the run. */
export function mustNotCompensate(state: RunState, scope?: string): Refusal | undefined {
  const closing = state.compensations.find((each) => covers(each.scope, scope))
  if (closing === undefined) return undefined
  return refusal('compensating', 'a rollback has closed this scope: nothing new starts in it', {
    evidence: { compensationId: closing.compensationId, scope: closing.scope ?? null },
  })
}

/** The refusal while a fork is open: its branches read a frozen context, which nothing else may change. */
export function mustNotBeForked({ openFork }: RunState): Refusal | undefined {
  if (openFork === undefined) return undefined
  return refusal('fork-open', 'a fork is open: the context stays as its branches see it until they are joined', {
    evidence: { forkId: openFork },
  })
}

/** A scope covers itself and the paths below it; an undefined scope covers the whole run. */
export function covers(scope: string | undefined, inner: string | undefined): boolean {
  if (scope === undefined) return true
  return inner !== undefined && (inner === scope || inner.startsWith(`${scope}/`))
}

/**
 * Refuses and records the refusal as evidence that the gate works. An equal refusal (actor, code, fingerprint) is recorded once per run;
 * beyond the limit of the window the answer is 429 and nothing is recorded (STR-12). Each refusal of the run's own code (`runFence`) is
 * recorded (RUN-191).
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

/** The body of RequestRefused: the content of the answer, so that the answer can be repeated. */
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
