/** @module From a decision to sealed events, folded into the run's aggregate as they are sealed; and the canonical texts of the decision. */

import { Buffer } from 'node:buffer'
import type { RecordedEvent } from '../../../projections/projection.ts'
import type { RunState } from '../../../projections/run-state.ts'
import { handoffSnapshot } from '../../../projections/snapshot.ts'
import type { RequestMark } from '../../../schemas/header.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import type { Decision, Draft } from '../../domain/decision.ts'
import { canonicalJson, canonicalObject } from '../../signing/canonical-json.ts'
import { textDigest } from '../../signing/digests.ts'
import { type SealedEvent, sealEvents } from '../../signing/seal.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Caller, RequestInfo } from '../ledger.ts'
import type { Effects } from '../ports.ts'
import type { AnsweredEvent } from '../responses/response-parts.ts'
import type { RunAggregate } from './run-aggregate.ts'

export interface Sealing {
  readonly sealer: Sealer
  readonly effects: Effects
  readonly run: RunAggregate
  readonly caller: Caller
  readonly info: RequestInfo
  /** Idempotency of the request; absent where its answer is not to be remembered. */
  readonly mark: RequestMark | undefined
  readonly texts: DecisionTexts
}

/** Seals what was decided. The hot run is ahead of the store from here on. */
export function sealDecision(sealing: Sealing, { drafts }: Extract<Decision, { kind: 'append' }>): SealedEvent[] {
  const handoff = drafts.findIndex(({ type }) => type === 'EnvelopeAccepted')
  if (handoff === -1) return sealAndFold(sealing, drafts)
  // Its snapshot is of the run with all that stands before it folded.
  const before = handoff === 0 ? [] : sealAndFold(sealing, drafts.slice(0, handoff))
  const rest = drafts.slice(handoff).map((draft) => withSnapshot(draft, sealing.run.state))
  const cause = before[0]?.header.id
  const events = sealAndFold(cause === undefined ? sealing : { ...sealing, mark: undefined }, rest, cause)
  return [...before, ...events]
}

function withSnapshot(draft: Draft, state: RunState | undefined): Draft {
  if (draft.type !== 'EnvelopeAccepted' || state === undefined) return draft
  return { type: draft.type, data: { ...draft.data, snapshot: handoffSnapshot(state, draft.data) } }
}

function sealAndFold(sealing: Sealing, drafts: readonly Draft[], causation?: string): SealedEvent[] {
  const { sealer, effects, run, caller, info, texts } = sealing
  sealer.notBefore(run.head?.ringIndex)
  const caused = causation === undefined ? {} : { causation }
  const unsealed = drafts.map(({ type, data }) => ({
    type,
    data: data as Json,
    dataText: texts.bodyText(data as unknown as JsonObject),
    ...caused,
  }))
  const events = sealEvents(unsealed, {
    stream: run.stream,
    tenant: run.tenant,
    actor: caller.actor,
    principal: caller.principal,
    via: caller.via,
    traceparent: info.traceparent,
    revision: run.revision + 1,
    prev: run.head?.digest,
    prevTime: run.head?.time,
    clock: new Date(effects.nowMs()).toISOString(),
    request: sealing.mark,
    ...sealer.current(run.tenant, run.stream),
    newId: effects.newId,
    newSalt: effects.newSalt,
  })
  const { ringIndex } = sealer
  for (const event of events) {
    run.fold(answered(event))
    const { revision, time } = event.header
    run.head = { revision, digest: event.digest, time, ringIndex }
  }
  return events
}

export function answered({ header, data, digest }: SealedEvent): AnsweredEvent {
  return { type: header.type, data, header, digest } as unknown as AnsweredEvent & RecordedEvent
}

/** The canonical texts of one decision: a payload is written once, for the size, the digest, the request's mark and the body of the event. */
export class DecisionTexts {
  /** Of objects that nobody changes while the decision is made. */
  readonly #texts = new Map<object, string>()
  readonly #same = new Map<object, JsonObject>()

  /** The values are equal: one text serves both. */
  areOne(value: JsonObject, other: JsonObject): void {
    this.#same.set(value, other)
  }

  readonly digestOf = (value: Json | object): string => textDigest(this.textOf(value as Json))

  readonly sizeOf = (value: Json): number => Buffer.byteLength(this.textOf(value))

  /** The canonical text of an event's or a request's body, in which values stand whose text is known. */
  bodyText(body: JsonObject): string {
    const texts = Object.entries(body).map(([key, member]) => {
      return [key, isJsonObject(member) ? this.textOf(member) : canonicalJson(member)] as const
    })
    return canonicalObject(Object.fromEntries(texts))
  }

  /** The canonical text. */
  textOf(value: Json): string {
    if (typeof value !== 'object' || value === null) return canonicalJson(value)
    const one = this.#same.get(value) ?? value
    const known = this.#texts.get(one)
    if (known !== undefined) return known
    const text = canonicalJson(one)
    this.#texts.set(one, text)
    return text
  }
}
