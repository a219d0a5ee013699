/**
 * @module What a decision is: a pure function of a run's state, a command, and what the edge knows (time, ids, actor), to the
 * events that record it, an answer that needs none, or a refusal.
 */

import type { CallState, ReservationState, RunState } from '../../projections/run-state.ts'
import type { EventBody, RunEventType } from '../../schemas/events.ts'
import type { Json } from '../../schemas/json.ts'
import type { Refusal } from './refusal.ts'

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
  readonly principal?: string
  /** Of the token: what its bearer may decide. */
  readonly roles?: readonly string[]
  readonly newId: () => string
  /** `sha256:` digest over the JCS bytes of a JSON value (an object type, so that parsed requests fit). */
  readonly digestOf: (value: Json | object) => string
  /** Canonical size of a value in bytes. */
  readonly sizeOf: (value: Json) => number
  readonly ledgerId: string
  /** Digest of the stream's last event; undefined before the first. */
  readonly headDigest: string | undefined
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
