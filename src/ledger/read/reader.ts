/** @module Reads for the write path and the queries: single events, past states, and whether a state in memory is still current. */
import { evolveRun } from '../../../projections/run.ts'
import { type CallState, type RunState, safeKey } from '../../../projections/run-state.ts'
import type { StartAnswer } from '../../../schemas/answers/runs.ts'
import type { EventBody } from '../../../schemas/events.ts'
import type { RequestMark } from '../../../schemas/header.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { plain } from '../../../schemas/plain.ts'
import type { ResolveCall, SettleCall } from '../../../schemas/requests.ts'
import type { ValueRef } from '../../../schemas/values.ts'
import { refusal } from '../../domain/refusal.ts'
import type { RunCommand } from '../../domain/run-command.ts'
import { waitKey } from '../../domain/waits.ts'
import type { Pace } from '../../resources/work-queue.ts'
import { canonicalJson } from '../../signing/canonical-json.ts'
import { jsonDigest } from '../../signing/digests.ts'
import { type EventStore, type ReadRecord, readOne } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import { callOutcome, claimedArguments, lacksResult } from '../responses/call-outcome.ts'
import { recordedFork } from '../responses/fork-reads.ts'
import type { AnsweredEvent, CommandResponse } from '../responses/response-parts.ts'
import { compensationBody, planOf, runOrigin } from '../responses/responses.ts'
import { waitAnswer } from '../responses/wait-responses.ts'
import { readable } from '../subjects/kept-values.ts'
import type { SubjectKeys } from '../subjects/subject-keys.ts'
import type { ValueStore } from '../values/value-store.ts'
import type { RunAggregate } from '../write/run-aggregate.ts'
import type { RunAggregates } from '../write/run-aggregates.ts'
import { DamagedStreamError, verifiedEvent, verifiedEvents } from './verified-events.ts'

/** Events read at once: most requests append no more, and longer ones are read in several steps. */
const REQUEST_EVENTS = 4

export interface RecordedRequest {
  readonly mark: RequestMark
  readonly kid: string
  readonly events: readonly AnsweredEvent[]
  readonly lastRevision: number
}

export interface ReaderDeps {
  readonly store: EventStore
  readonly runs: RunAggregates
  readonly sealer: Sealer
  readonly values: ValueStore
  /** Keys of the encrypted values in events. */
  readonly subjects?: SubjectKeys | undefined
}

export class Reader {
  readonly #store: EventStore
  readonly #runs: RunAggregates
  readonly #sealer: Sealer
  readonly #values: ValueStore
  readonly #subjects: SubjectKeys | undefined

  constructor({ store, runs, sealer, values, subjects }: ReaderDeps) {
    this.#subjects = subjects
    this.#store = store
    this.#runs = runs
    this.#sealer = sealer
    this.#values = values
  }

  /** Whether the whole state of the run is durable and no other process has written since. */
  async isCurrent(run: RunAggregate): Promise<boolean> {
    const { revision } = run
    if (!(await run.durable())) return false
    const head = await this.#store.head(run.stream)
    if (head < revision) {
      this.#runs.drop(run)
      throw new DamagedStreamError(run.stream, head + 1, 'this event was acknowledged, and the store has it no more')
    }
    if (head === revision) return true
    // The head moved during this check: if it becomes durable here, the new head is our own event, otherwise that of another writer.
    if (head <= run.revision && (await run.durable())) return true
    this.#runs.drop(run)
    return false
  }

  async recordAt(stream: string, revision: number): Promise<ReadRecord | undefined> {
    return readOne(this.#store, { stream, revision })
  }

  async eventAt(stream: string, revision: number): Promise<AnsweredEvent | undefined> {
    const record = await this.recordAt(stream, revision)
    return record === undefined ? undefined : verifiedEvent(this.#sealer, record)
  }

  /** The event with its decrypted values: for answers only, never for a decision, which would record them. */
  async readableAt(stream: string, revision: number): Promise<AnsweredEvent | undefined> {
    const event = await this.eventAt(stream, revision)
    return event && readable(this.#subjects, event)
  }

  /** The run as it was right after `revision`. Verified, because its content may be restored under a new seal. */
  async stateAt(stream: string, revision: number, pace?: Pace): Promise<RunState> {
    let state: RunState | undefined
    const deps = { store: this.#store, sealer: this.#sealer }
    for await (const { event } of verifiedEvents(deps, stream, { to: revision, pace })) state = evolveRun(state, event)
    if (state === undefined) throw new TypeError(`${stream} holds no run`)
    return state
  }

  async contextAt(stream: string, revision: number): Promise<JsonObject> {
    return (await this.stateAt(stream, revision)).context
  }

  /** The events that one request appended: the first one, which has the mark, and those caused by it in the same write. */
  async requestAt(stream: string, revision: number): Promise<RecordedRequest | undefined> {
    const events: AnsweredEvent[] = []
    for (let from = revision; ; from += REQUEST_EVENTS) {
      const records = await collect(this.#store.readStream(stream, { from, to: from + REQUEST_EVENTS - 1 }))
      for (const record of records) {
        const event = verifiedEvent(this.#sealer, record)
        const first = events[0]
        if (first !== undefined && event.header.causation !== first.header.id) return requestOf(events)
        events.push(event)
      }
      if (records.length < REQUEST_EVENTS) return requestOf(events)
    }
  }

  /** Agent, mode and payload of an accepted envelope; for the start of a run, the payload from which it started. */
  async envelopeAt(stream: string, revision: number): Promise<JsonObject> {
    const event = await this.readableAt(stream, revision)
    if (event?.type === 'RunStarted') return { payload: event.data.restored ?? {} }
    if (event?.type !== 'EnvelopeAccepted') return { payload: {} }
    const { agent, mode, payload } = event.data
    return { agent, mode, payload }
  }

  /** The payload of a signal. */
  async payloadAt(stream: string, revision: number): Promise<Json> {
    const event = await this.readableAt(stream, revision)
    return event?.type === 'SignalReceived' ? event.data.payload : null
  }

  /** The recorded outcome of a call, read from its event. */
  async outcomeOf(stream: string, call: CallState): Promise<JsonObject> {
    if (call.outcomeRevision === undefined) return {}
    const event = await this.readableAt(stream, call.outcomeRevision)
    return event === undefined ? {} : callOutcome(event)
  }

  /** The answer for a call that has an outcome: a repeat gets the same result, a different outcome is refused. */
  async recordedCall(run: RunAggregate, call: CallState, command: RunCommand): Promise<CommandResponse> {
    const outcome = await this.outcomeOf(run.stream, call)
    const { callId, status, fence, attempt, generation, key } = call
    const body = { runId: run.runId, callId, status, fence, attempt, generation, key, ...outcome }
    if (command.kind === 'claim' && lacksResult(outcome)) return resultRedacted(call, outcome)
    const known = await this.#comparable(run, command, call)
    if (command.kind === 'settle' && !isSameOutcome(command.body, known)) return alreadySettled(call)
    if (command.kind === 'resolve' && !isSameResolution(command.body, known)) return resolvedBefore(call, outcome)
    return { kind: 'body', created: false, body }
  }

  /**
   * The outcome as it is recorded, which is the form in which commands are compared. Includes the result if it is stored apart from the events and
   * equals that of the command.
   */
  async #comparable(run: RunAggregate, command: RunCommand, { outcomeRevision }: CallState): Promise<JsonObject> {
    const event = outcomeRevision === undefined ? undefined : await this.eventAt(run.stream, outcomeRevision)
    const outcome = event === undefined ? {} : callOutcome(event)
    const result = command.kind === 'settle' || command.kind === 'resolve' ? command.body.result : undefined
    const ref = outcome.resultRef as ValueRef | undefined
    if (result === undefined || ref === undefined) return outcome
    return (await this.#values.isOf(run, ref, canonicalJson(result))) ? { ...outcome, result } : outcome
  }

  /**
   * The answer if nothing had to be done. Has to be called on the state to which the answer applies; the returned function reads further values once
   * that state is durable.
   */
  asIs(run: RunAggregate, command: RunCommand): () => CommandResponse | Promise<CommandResponse> {
    const { state } = run
    if (state === undefined) {
      const nowhere = refusal('run-not-found', `there is no run ${run.runId}`)
      return () => ({ kind: 'refusal', refusal: nowhere })
    }
    const place = { runId: run.runId, revision: run.revision, digest: run.head?.digest ?? '' }
    if (command.kind === 'start') return this.#endedRun(run.stream, state, place)
    if (command.kind === 'compensate') {
      const id = state.compensations.find((each) => each.scope === command.body.scope)?.compensationId ?? ''
      const body = { ...place, ...compensationBody(state, id) }
      const plan = planOf(state, id)
      return () => ({ kind: 'body', created: false, body, plan })
    }
    if (command.kind === 'disclose') return () => ({ kind: 'body', created: false, body: place })
    if (command.kind === 'child-started') {
      const noted = { ...place, child: command.body.run }
      return () => ({ kind: 'body', created: false, body: noted })
    }
    if (command.kind === 'branched') {
      const noted = { ...place, branch: command.body.run, atStep: command.body.atStep }
      return () => ({ kind: 'body', created: false, body: noted })
    }
    if (command.kind === 'wait') {
      const wait = state.waits[safeKey(state.waitKeys[safeKey(waitKey(command.body, jsonDigest))] ?? '')]
      const answer = wait === undefined ? { created: false, body: place } : waitAnswer(wait, place)
      return () => ({ kind: 'body', ...answer })
    }
    const fork = recordedFork(this, command, { stream: run.stream, state, place })
    if (fork !== undefined) return fork
    const agent = command.kind === 'manifest' ? command.body.agent : ''
    const body = { ...place, agent, hash: state.manifests[safeKey(agent)]?.hash ?? '' }
    return () => ({ kind: 'body', created: false, body })
  }

  #endedRun(stream: string, state: RunState, place: JsonObject): () => Promise<CommandResponse> {
    const { name, status, fence, endRevision } = state
    const step = state.lineage.at(-1)?.step ?? 0
    const compensation = state.compensation === undefined ? {} : { compensation: state.compensation }
    const body: Ended = { name, status, step, fence, ...compensation, ...runOrigin(state) }
    return async () => {
      const end = endRevision === undefined ? undefined : await this.readableAt(stream, endRevision)
      const completion = end?.type === 'RunCompleted' ? outputOf(end.data) : {}
      const failure = end?.type === 'RunFailed' ? { error: plain(end.data.error) } : {}
      return { kind: 'body', created: false, body: { ...place, ...body, ...completion, ...failure } }
    }
  }

  /** The actions of a rollback with the arguments and results of the calls that they undo. */
  async planDetails(stream: string, plan: readonly (readonly CallState[])[], pace?: Pace): Promise<Json> {
    const details: Json[] = []
    for (const group of plan) {
      const actions: Json[] = []
      for (const call of group) {
        const wait = pace?.turn()
        if (wait !== undefined) await wait
        actions.push(await this.#action(stream, call))
      }
      details.push(actions)
    }
    return details
  }

  async #action(stream: string, call: CallState): Promise<JsonObject> {
    const claim = await this.readableAt(stream, call.claimRevision)
    const { callId, status, group, scope } = call
    return {
      callId,
      key: callId,
      tool: typeof call.compensate === 'object' ? call.compensate.tool : call.tool,
      forwardTool: call.tool,
      status,
      ...(group === undefined ? {} : { group }),
      ...(scope === undefined ? {} : { scope }),
      args: null,
      ...claimedArguments(claim),
      ...(await this.outcomeOf(stream, call)),
    }
  }
}

/** The members in addition to the place with which every answer begins. */
type Ended = Omit<StartAnswer, 'runId' | 'revision' | 'digest'>

function outputOf({
  output = null,
  outputRef,
  redacted,
}: EventBody<'RunCompleted'>): Pick<Ended, 'output' | 'outputRef' | 'outputRedacted'> {
  const recorded = outputRef === undefined ? { output } : { outputRef: plain(outputRef) }
  return { ...recorded, ...(redacted && { outputRedacted: plain(redacted) }) }
}

async function collect(pages: AsyncIterable<readonly ReadRecord[]>): Promise<ReadRecord[]> {
  const records: ReadRecord[] = []
  for await (const page of pages) records.push(...page)
  return records
}

function requestOf(events: readonly AnsweredEvent[]): RecordedRequest | undefined {
  const [first] = events
  const mark = first?.header.request
  if (first === undefined || mark === undefined) return undefined
  return { mark, kid: first.header.kid, events, lastRevision: events.at(-1)?.header.revision ?? first.header.revision }
}

function isSameOutcome(body: SettleCall, outcome: JsonObject): boolean {
  if (body.error !== undefined) return isEqual(body.error as JsonObject, outcome.error)
  if (body.unrecorded !== undefined) return isEqual(body.unrecorded as JsonObject, outcome.unrecorded)
  if (body.unknown !== undefined) return outcome.unknown !== undefined
  return isEqual(body.result ?? null, outcome.result)
}

function isSameResolution({ outcome, result }: ResolveCall, recorded: JsonObject): boolean {
  const { resolved } = recorded
  const known = isJsonObject(resolved ?? null) ? (resolved as JsonObject).outcome : undefined
  return known === outcome && isEqual(result ?? null, recorded.result ?? recorded.resultRef ?? null)
}

function isEqual(a: Json, b: Json | undefined): boolean {
  return b !== undefined && canonicalJson(a) === canonicalJson(b)
}

function resolvedBefore({ callId, status }: CallState, { resolved = null }: JsonObject): CommandResponse {
  const detail = 'this call was resolved before, in another way: a resolution is final'
  return { kind: 'refusal', refusal: refusal('call-not-in-doubt', detail, { evidence: { callId, status, resolved } }) }
}

/** A redacted result cannot be returned: the caller gets a refusal, and not a marker in place of the result (RUN-98). */
function resultRedacted({ callId, tool }: CallState, { resultRedacted: redacted = null }: JsonObject): CommandResponse {
  const detail = `${tool} has run, and its result was left out of the record, at least in part: get it elsewhere`
  return { kind: 'refusal', refusal: refusal('result-redacted', detail, { evidence: { callId, tool, redacted } }) }
}

function alreadySettled(call: CallState): CommandResponse {
  return {
    kind: 'refusal',
    refusal: refusal(
      'already-settled',
      `the call has an outcome already (${call.status}); an outcome is recorded once`,
      {
        evidence: { callId: call.callId, status: call.status, fence: call.fence },
      },
    ),
  }
}
