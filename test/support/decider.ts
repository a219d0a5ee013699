/** @module Given these events, when this is decided, then these events or that refusal. Time stands at `T0` unless told otherwise. */
import * as assert from 'uvu/assert'
import type { RecordedEvent } from '../../projections/projection.ts'
import { evolveRun } from '../../projections/run.ts'
import type { RunState } from '../../projections/run-state.ts'
import type { Header } from '../../schemas/header.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'
import type { Decision, Draft, Env } from '../../src/domain/decision.ts'
import type { HandoffEnv } from '../../src/domain/handoff.ts'
import { leaseLeftByWall, reservationLeftByWall } from '../../src/domain/lease.ts'
import { emptyEvidence } from '../../src/domain/validator/evidence.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { textDigest } from '../../src/signing/digests.ts'

export const T0 = Date.parse('2026-01-01T00:00:00.000Z')
export const at = (ms: number): string => new Date(T0 + ms).toISOString()
/** The n-th id of a test. */
export const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
export const digestOf = (value: Json | object): string => textDigest(canonicalJson(value as Json))
/** Digest of the event at this revision, as a test's stream has it. */
export const digestAt = (revision: number): string => `sha256:${String(revision).padStart(64, '0')}`

type Decide = (state: RunState, env: HandoffEnv) => Decision
type Expected = Draft['type'] | readonly [type: Draft['type'], data: JsonObject]

export interface Then {
  /** Exactly these events, each with at least these members. */
  appends(...expected: readonly Expected[]): Then
  refused(code: string, evidence?: JsonObject): Then
  /** With this text of the refusal. */
  because(detail: string): Then
  /** With the refusal these events, in order. */
  recorded(...expected: readonly Expected[]): Then
  is(kind: Decision['kind']): Then
  /** The state once the decision is folded. */
  leads(look: (state: RunState) => void): Then
}

/** When, and who: with the token's principal and roles. */
interface At {
  readonly ms?: number
  readonly actor?: string
  readonly principal?: string
  readonly roles?: readonly string[]
}

export interface Given {
  /** Decides `ms` after T0, as `actor`. */
  when(decide: Decide, at?: At): Then
  state(): RunState
}

export function given(...drafts: readonly (Draft | readonly [ms: number, draft: Draft, actor?: string])[]): Given {
  const fold = (): RunState => {
    let state: RunState | undefined
    drafts.forEach((each, revision) => {
      const [ms, draft, actor] = 'type' in each ? [0, each] : each
      state = evolveRun(state, recorded(draft, { revision, ms, ...(actor !== undefined && { actor }) }))
    })
    if (state === undefined) throw new Error('a run is given')
    return state
  }
  return {
    state: fold,
    when: (decide, { ms = 0, actor = 'alice', ...person } = {}) => {
      const state = fold()
      const before = structuredClone(state)
      const decision = decide(state, { ...envAt(ms, actor, drafts.length), ...person })
      assert.equal(state, before, 'a decision does not touch the state it is given')
      return thenOf(state, decision, { ms, actor, revision: drafts.length })
    },
  }
}

function thenOf(state: RunState, decision: Decision, of: { ms: number; actor: string; revision: number }): Then {
  const refusal = decision.kind === 'refuse' ? decision : undefined
  const drafts =
    decision.kind === 'append'
      ? decision.drafts
      : [...(refusal?.before ?? []), ...(refusal?.record ? [refusal.record] : [])]
  const then: Then = {
    appends: (...expected) => {
      if (refusal !== undefined) throw new Error(`refused: ${refusal.refusal.code}: ${refusal.refusal.detail}`)
      compare(drafts, expected)
      return then
    },
    refused: (code, evidence) => {
      assert.is(refusal?.refusal.code, code)
      if (evidence !== undefined) assert.equal(part(refusal?.refusal.evidence ?? {}, evidence), evidence)
      return then
    },
    because: (detail) => {
      assert.is(refusal?.refusal.detail, detail)
      return then
    },
    recorded: (...expected) => {
      compare(drafts, expected)
      return then
    },
    is: (kind) => {
      assert.is(decision.kind, kind)
      return then
    },
    leads: (look) => {
      let folded: RunState = state
      drafts.forEach((draft, i) => {
        folded = evolveRun(folded, recorded(draft, { ...of, revision: of.revision + i }))
      })
      look(folded)
      return then
    },
  }
  return then
}

function compare(drafts: readonly Draft[], expected: readonly Expected[]): void {
  const expectations = expected.map((each) => (typeof each === 'string' ? ([each, {}] as const) : each))
  assert.equal(
    drafts.map((draft) => draft.type),
    expectations.map(([type]) => type),
  )
  expectations.forEach(([, data], i) => {
    assert.equal(part((drafts[i]?.data ?? {}) as JsonObject, data), data)
  })
}

/** The members that `like` has; undefined where one is not there. */
function part(value: JsonObject, like: JsonObject): Record<string, Json | undefined> {
  return Object.fromEntries(Object.keys(like).map((key) => [key, value[key]]))
}

function envAt(ms: number, actor: string, revision: number): HandoffEnv {
  let ids = 100
  const env: Env = {
    nowMs: T0 + ms,
    leaseLeftMs: (call, state) => leaseLeftByWall(call, state, T0 + ms),
    reservationLeftMs: ({ deadline }, state) => reservationLeftByWall(deadline, state, T0 + ms),
    actor,
    newId: () => {
      ids += 1
      return id(ids)
    },
    digestOf,
    sizeOf: (value) => canonicalJson(value).length,
    ledgerId: id(99),
    headDigest: digestAt(revision - 1),
  }
  return {
    ...env,
    evidence: emptyEvidence(),
    signatureFault: () => undefined,
    signedDigest: ({ agent, parent, payload }) => digestOf({ agent, parent, payload }),
    signatureSpellings: (signature) => [signature],
  }
}

function recorded(draft: Draft, of: { revision: number; ms: number; actor?: string }): RecordedEvent {
  const header: Header = {
    v: 1,
    id: id(10_000 + of.revision),
    stream: 'run-acme.r',
    revision: of.revision,
    type: draft.type,
    time: at(of.ms),
    tenant: 'acme',
    actor: of.actor ?? 'alice',
    dataDigest: digestAt(0),
    ...(of.revision === 0 ? {} : { prev: digestAt(of.revision - 1) }),
    kid: 'k1',
    mac: 'A'.repeat(43),
  }
  return { ...draft, header } as RecordedEvent
}
