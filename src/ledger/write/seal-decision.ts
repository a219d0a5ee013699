/** @module From a decision to sealed events, folded into the hot run as they are sealed. */
import type { RecordedEvent } from '../../../projections/projection.ts'
import { snapshotOf } from '../../../projections/snapshot.ts'
import type { RequestMark } from '../../../schemas/header.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { Decision, Draft } from '../../domain/decision.ts'
import { type SealedEvent, sealEvents } from '../../signing/seal.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Caller, RequestInfo } from '../ledger.ts'
import type { Effects } from '../ports.ts'
import type { AnsweredEvent } from '../responses/response-parts.ts'
import type { DecisionTexts } from './decision-texts.ts'
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

/** Seals what was decided, with the snapshot behind it. The hot run is ahead of the store from here on. */
export function sealDecision(sealing: Sealing, decision: Extract<Decision, { kind: 'append' }>): SealedEvent[] {
  const { run } = sealing
  const events = sealAndFold(sealing, decision.drafts)
  if (decision.snapshotAfter !== true || run.state === undefined) return events
  const snapshot: Draft = { type: 'SnapshotTaken', data: snapshotOf(run.state) }
  return [...events, ...sealAndFold({ ...sealing, mark: undefined }, [snapshot], events[0]?.header.id)]
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
