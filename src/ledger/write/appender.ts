/** @module Seals and appends a decision, and reports the result: durable, to be decided again, refused, or unknown. */
import type { RecordedEvent } from '../../../projections/projection.ts'
import { handoffSnapshot } from '../../../projections/run.ts'
import type { RunState } from '../../../projections/run-state.ts'
import type { RequestMark } from '../../../schemas/header.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import type { Decision, Draft } from '../../domain/decision.ts'
import type { Refusal } from '../../domain/refusal.ts'
import { type CanonicalTexts, canonicalJson } from '../../signing/canonical-json.ts'
import { requestMac } from '../../signing/request-mark.ts'
import { type SealedEvent, sealEvents } from '../../signing/seal.ts'
import type { Append, EventStore } from '../../store/event-store.ts'
import { wasWritten } from '../../store/was-written.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Outcome } from '../ledger.ts'
import type { Effects } from '../ports.ts'
import type { Reader } from '../read/reader.ts'
import { responseOfEvents } from '../responses/event-responses.ts'
import { type AnsweredEvent, type CommandResponse, withRedacted } from '../responses/response-parts.ts'
import { responseTo } from '../responses/responses.ts'
import type { WriteCounts } from '../stats.ts'
import type { PendingCommand } from './decide.ts'
import type { LeaseClock } from './lease-clock.ts'
import { blindKeyOf } from './redaction.ts'
import type { FollowedResult, RunAggregate } from './run-aggregate.ts'
import type { RunAggregates } from './run-aggregates.ts'
import { appendTooLarge, notKnownWritten, notTaken, refused, storeFull } from './write-refusals.ts'

/** An attempt: its outcome, or `again` if it was based on a state that is behind the store. */
export interface Attempt {
  readonly settled: Promise<Outcome | 'again'>
  /** Whether the command is refused according to the current in-memory state. */
  readonly refusedNow: boolean
  /** Whether nothing is decided yet; commands that follow in order have to wait. */
  readonly undecided?: boolean
}

/** Nothing was attempted, because the state did not allow a decision. */
export const AGAIN: Attempt = { refusedNow: false, undecided: true, settled: Promise.resolve('again') }

export interface OutcomeDeps {
  readonly reader: Reader
  readonly stats: WriteCounts
}

export interface AppendDeps extends OutcomeDeps {
  readonly store: EventStore
  readonly runs: RunAggregates
  readonly sealer: Sealer
  readonly effects: Effects
  readonly leases: LeaseClock
}

interface Sent {
  readonly append: Append
  readonly revision: number
  readonly answer: CommandResponse
}

interface Appending {
  readonly decision: Extract<Decision, { kind: 'append' }>
  readonly texts: CanonicalTexts
  readonly instead?: Refusal
}

export class Appender {
  readonly #deps: AppendDeps

  constructor(deps: AppendDeps) {
    this.#deps = deps
  }

  /**
   * Seals and folds the events and hands them over to the store at once. `texts` has the canonical texts written for the decision; `instead` is the
   * refusal to answer with if the events are not the answer.
   */
  append(run: RunAggregate, pending: PendingCommand, inputs: Appending): Attempt {
    const { store, runs, stats, sealer, effects, leases } = this.#deps
    const expectedRevision = run.revision
    const { decision, texts } = inputs
    const mark = inputs.instead === undefined ? this.#mark(run, pending, texts) : undefined
    let events: SealedEvent[]
    try {
      events = sealDecision({ sealer, effects, run, pending, mark, texts }, decision)
    } catch (error) {
      runs.drop(run)
      throw error
    }
    const records = events.map((event) => event.record)
    const tooLarge = sizeFault(records, store.maxAppendBytes)
    if (tooLarge !== undefined) {
      runs.drop(run)
      return { refusedNow: true, settled: Promise.resolve(refused(tooLarge)) }
    }
    // The state advances while the disk is working, so the answer is made now.
    const answer: CommandResponse =
      inputs.instead === undefined
        ? answerTo(pending, run, { events: events.map(answered), mark })
        : { kind: 'refusal', refusal: inputs.instead }
    const append = { stream: run.stream, expectedRevision, records }
    const sent: Sent = { append, revision: run.revision, answer }
    for (const { data } of events) {
      if (!isJsonObject(data)) continue
      if (typeof data.callId === 'string') leases.decided(run, data.callId)
      if (typeof data.reservationId === 'string') leases.reserved(run, data.reservationId)
    }
    stats.began()
    const appended = run.append(store, append)
    runs.hold(run)
    return { refusedNow: answer.kind === 'refusal', settled: this.#afterAppend(run, appended, sent) }
  }

  #mark(run: RunAggregate, pending: PendingCommand, texts: CanonicalTexts): RequestMark | undefined {
    const { idempotency } = pending.info
    if (idempotency === undefined || pending.requestId === undefined || pending.reusedKey === true) return undefined
    const { sealer } = this.#deps
    // The key of the run may be disclosed one day; values that were left out are protected by a key that never is.
    if (pending.sent !== undefined) {
      const { values } = blindKeyOf(sealer, run.tenant, run.stream)
      return { id: pending.requestId, mac: requestMac(values, idempotency) }
    }
    sealer.notBefore(run.head?.ringIndex)
    const { key } = sealer.current(run.tenant, run.stream)
    return { id: pending.requestId, mac: requestMac(key, idempotency, bodyTextOf(texts)) }
  }

  async #afterAppend(run: RunAggregate, appended: Promise<FollowedResult>, sent: Sent): Promise<Outcome | 'again'> {
    const { runs, stats } = this.#deps
    let result: FollowedResult | undefined
    try {
      result = await appended
    } finally {
      stats.settled(result?.kind === 'appended' ? sent.append.records.length : 0)
    }
    if (result.kind === 'appended')
      return outcomeOf(this.#deps, run, sent.answer, { revision: sent.revision, replayed: false })
    runs.drop(run)
    switch (result.kind) {
      case 'conflict':
      case 'duplicate-request':
        // The command is decided again on the current state: a wrong expected revision is then refused, and a repeated request is answered.
        stats.conflict()
        return 'again'
      case 'not-sent':
        return 'again'
      case 'full':
        return refused(storeFull(result.detail))
      case 'unavailable':
        return refused(notTaken(this.#deps.store, result.detail, result.retryAfterMs))
      case 'unknown': {
        const written = await this.#wasWritten(sent.append)
        if (written === undefined) return refused(notKnownWritten(this.#deps.store, result.detail))
        return !written
          ? 'again'
          : outcomeOf(this.#deps, run, sent.answer, { revision: sent.revision, replayed: false })
      }
    }
  }

  /** Undefined if the store cannot tell at the moment. */
  async #wasWritten(append: Append): Promise<boolean | undefined> {
    try {
      return await wasWritten(this.#deps.store, append)
    } catch {
      return undefined
    }
  }
}

let clock = { ms: 0, text: '1970-01-01T00:00:00.000Z' }

/** Cached, because many events are sealed within a millisecond. */
function clockText(ms: number): string {
  if (ms !== clock.ms) clock = { ms, text: new Date(ms).toISOString() }
  return clock.text
}

interface Sealing {
  readonly sealer: Sealer
  readonly effects: Effects
  readonly run: RunAggregate
  readonly pending: PendingCommand
  /** Idempotency mark of the request; absent if its answer is not to be remembered. */
  readonly mark: RequestMark | undefined
  readonly texts: CanonicalTexts
}

/** Seals the events of a decision. The cached run is ahead of the store from here on. */
function sealDecision(sealing: Sealing, { drafts }: Extract<Decision, { kind: 'append' }>): SealedEvent[] {
  const handoff = drafts.findIndex(({ type }) => type === 'EnvelopeAccepted')
  if (handoff === -1) return sealAndFold(sealing, drafts)
  // The snapshot of a handoff is that of the run with all preceding events folded.
  const before = handoff === 0 ? [] : sealAndFold(sealing, drafts.slice(0, handoff))
  const rest = handoff === 0 ? drafts : drafts.slice(handoff)
  for (const draft of rest) addSnapshot(draft, sealing.run.state)
  const cause = before[0]?.header.id
  const events = sealAndFold(cause === undefined ? sealing : { ...sealing, mark: undefined }, rest, cause)
  return before.length === 0 ? events : [...before, ...events]
}

/** The draft belongs to this decision alone, so it is modified in place. */
function addSnapshot(draft: Draft, state: RunState | undefined): void {
  if (draft.type !== 'EnvelopeAccepted' || state === undefined) return
  Object.assign(draft.data, { snapshot: handoffSnapshot(state, draft.data) })
}

function sealAndFold(sealing: Sealing, drafts: readonly Draft[], causation?: string): SealedEvent[] {
  const { sealer, effects, run, pending, texts } = sealing
  const { caller, info } = pending
  sealer.notBefore(run.head?.ringIndex)
  const unsealed = drafts.map(({ type, data }) => ({
    type,
    data: data as Json,
    dataText: texts.bodyText(data as unknown as JsonObject),
    causation,
  }))
  const { kid, key } = sealer.current(run.tenant, run.stream)
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
    clock: clockText(effects.nowMs()),
    request: sealing.mark,
    kid,
    key,
    newId: effects.newId,
    newSalt: effects.newSalt,
  })
  const { ringIndex } = sealer
  for (const event of events) {
    run.fold(answered(event))
    const { revision, time } = event.header
    run.head = { revision, digest: event.digest, time, ringIndex }
    if (event.header.type === 'EnvelopeAccepted' && run.state !== undefined)
      run.memberTexts = texts.membersOf(run.state.context, run.memberTexts)
  }
  return events
}

function answered({ header, data, digest }: SealedEvent): AnsweredEvent {
  return { type: header.type, data, header, digest } as unknown as AnsweredEvent & RecordedEvent
}

/** Adds the redacted places to the answer if anything was redacted; other answers skip the search. */
function answerTo(
  { sent }: PendingCommand,
  run: RunAggregate,
  { events, mark }: { readonly events: readonly AnsweredEvent[]; readonly mark: RequestMark | undefined },
): CommandResponse {
  const answer = answerOf(run, events, mark)
  return sent === undefined ? answer : withRedacted(answer, events)
}

/** Caches an answer that depends on the current state of the run, for a repeat of the request. */
function answerOf(run: RunAggregate, events: readonly AnsweredEvent[], mark: RequestMark | undefined): CommandResponse {
  const alone = responseOfEvents(events, run.runId)
  if (alone !== undefined) return alone
  const answer = responseTo(events, run.state as RunState)
  const [first] = events
  if (mark !== undefined && first !== undefined) run.answers.add(first.header.revision, answer)
  return answer
}

/** The body of a batch is a digest and not an object. */
const bodyTextOf =
  (texts: CanonicalTexts) =>
  (body: Json): string =>
    isJsonObject(body) ? texts.bodyText(body) : canonicalJson(body)

function sizeFault(records: readonly SealedEvent['record'][], limit: number): Refusal | undefined {
  // A UTF-16 code unit takes at most three bytes of UTF-8, so most appends need no exact count.
  const most = records.reduce((sum, each) => sum + 16 + 3 * (each.header.length + each.data.length), 0)
  if (most <= limit) return undefined
  const actual = records.reduce(
    (sum, each) => sum + each.salt.length + Buffer.byteLength(each.header) + Buffer.byteLength(each.data),
    0,
  )
  return actual > limit ? appendTooLarge(limit, actual) : undefined
}

/** The outcome that the caller of a command gets, with the values that have to be read for it. */
export function outcomeOf(
  { reader, stats }: OutcomeDeps,
  run: RunAggregate,
  answer: CommandResponse,
  { revision, replayed }: { readonly revision: number; readonly replayed: boolean },
): Outcome | Promise<Outcome> {
  if (answer.kind === 'refusal') stats.refused(answer.refusal.code)
  else if (answer.plan === undefined && answer.signalAt === undefined)
    return { ok: true, created: answer.created, runId: run.runId, body: answer.body, revision, replayed }
  return outcomeWithRead(reader, run, answer, { revision, replayed })
}

/** Completes an answer with values read from the store: the plan of a rollback, the payload of a signal, the envelope that a refusal restored. */
async function outcomeWithRead(
  reader: Reader,
  run: RunAggregate,
  answer: CommandResponse,
  of: { readonly revision: number; readonly replayed: boolean },
): Promise<Outcome> {
  if (answer.kind === 'body') {
    const { created, plan, signalAt, body } = answer
    const full = {
      ...body,
      ...(plan !== undefined && { plan: await reader.planDetails(run.stream, plan) }),
      ...(signalAt !== undefined && { payload: await reader.payloadAt(run.stream, signalAt) }),
    }
    return { ok: true, created, runId: run.runId, body: full, ...of }
  }
  if (answer.restored === undefined) return { ok: false, refusal: answer.refusal, ...of }
  const { revision, body } = answer.restored
  const restored = { ...(await reader.envelopeAt(run.stream, revision)), ...body }
  const evidence = { ...answer.refusal.evidence, restored }
  return { ok: false, refusal: { ...answer.refusal, evidence }, ...of }
}
