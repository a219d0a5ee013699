/** @module Queries on one run: rendered from the folded state, and returned only if that state is durable and current. */
import type { RecordedEvent } from '../../../projections/projection.ts'
import { type CallState, type RunState, safeKey } from '../../../projections/run-state.ts'
import type { ContextAnswer, RunAnswer } from '../../../schemas/answers/runs.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { withinRun } from '../../access/check-access.ts'
import { refusal } from '../../domain/refusal.ts'
import { weigh } from '../../resources/memory-budget.ts'
import type { Pace } from '../../resources/work-queue.ts'
import type { EventStore } from '../../store/event-store.ts'
import { pacedPages } from '../../store/paced-pages.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Caller, ContextAt, Found, Ledger } from '../ledger.ts'
import { claimedArguments } from '../responses/call-outcome.ts'
import { forkSummary } from '../responses/fork-responses.ts'
import { budgetBody, compensationBody, planOf } from '../responses/responses.ts'
import type { ReservationsPage, RunAt, RunPage } from '../run-at.ts'
import { holdsMarker, RunValues, readable } from '../subjects/kept-values.ts'
import type { SubjectKeys } from '../subjects/subject-keys.ts'
import type { ValueStore } from '../values/value-store.ts'
import type { LeaseClock } from '../write/lease-clock.ts'
import type { RunAggregate } from '../write/run-aggregate.ts'
import type { RunAggregates } from '../write/run-aggregates.ts'
import { loadRefusal } from '../write/write-refusals.ts'
import type { Reader } from './reader.ts'
import { isLater, type Render, readAsItWas } from './run-as-it-was.ts'
import { contextBody, type Leases, overdue, place, runBody, runNotFound, unslotted } from './run-bodies.ts'
import { verifiedEvent } from './verified-events.ts'

const READ_AGAIN_MAX = 8
/** A page ends with the item that reaches this size: each of up to 500 items may take half a megabyte. */
const PAGE_MAX_BYTES = 4 * 1024 * 1024

export interface QueryDeps {
  readonly store: EventStore
  readonly runs: RunAggregates
  readonly reader: Reader
  readonly sealer: Sealer
  readonly leases: LeaseClock
  readonly values: ValueStore
  readonly subjects: SubjectKeys | undefined
}

/** `overdue`: the lease has expired, but no event has recorded that yet. `child`: the run that carries out the call. */
export type ShownCall = CallState & { readonly overdue?: true; readonly child?: string }

const headOf = ({ revision, head }: RunAggregate) => ({ revision, digest: head?.digest ?? '' })

export type RunQueries = Pick<
  Ledger,
  | 'run'
  | 'context'
  | 'envelopes'
  | 'calls'
  | 'call'
  | 'budget'
  | 'findings'
  | 'manifests'
  | 'compensations'
  | 'forks'
  | 'value'
>

export class Queries implements RunQueries {
  readonly #deps: QueryDeps
  readonly #reader: Reader

  constructor(deps: QueryDeps) {
    this.#deps = deps
    this.#reader = deps.reader
  }

  /** Renders the current state of the run and returns the result once the state is durable; or renders a past state, which is folded again. */
  async read<T>(caller: Caller, runId: string, render: Render<T>, at?: RunAt): Promise<Found<T>> {
    const outside = withinRun(caller, runId)
    if (outside !== undefined) return { ok: false, refusal: outside }
    return this.#orRefusal(async () => {
      if (at === undefined) return this.#readWithin(caller, runId, render)
      const now = await this.#readWithin(caller, runId, () => undefined)
      if (!now.ok) return now
      return readAsItWas(this.#reader, caller, { runId, at, now: now.revision }, render)
    })
  }

  async #orRefusal<T>(read: () => Promise<Found<T>>): Promise<Found<T>> {
    try {
      return await read()
    } catch (error) {
      return { ok: false, refusal: loadRefusal(error, this.#deps.store) }
    }
  }

  async #readWithin<T>(caller: Caller, runId: string, render: Render<T>): Promise<Found<T>> {
    for (let tries = 0; tries < READ_AGAIN_MAX; tries += 1) {
      const run = await this.#deps.runs.get(caller.tenant, runId)
      const { state } = run
      const rendered = state && { of: render(state, headOf(run), this.#deps.leases) }
      const revision = run.revision
      if (!(await this.#reader.isCurrent(run))) continue
      if (rendered === undefined) return { ok: false, refusal: runNotFound(runId) }
      const value = isLater(rendered.of) ? await rendered.of() : rendered.of
      return { ok: true, value, revision }
    }
    return {
      ok: false,
      refusal: refusal('contended', 'the run changes faster than it can be read; try again', { retryAfterMs: 1_000 }),
    }
  }

  run(caller: Caller, runId: string, at?: RunAt): Promise<Found<RunAnswer>> {
    return this.read(caller, runId, runBody, at)
  }

  context(caller: Caller, runId: string, at: ContextAt): Promise<Found<ContextAnswer>> {
    return this.#orRefusal(() => this.#contextAt(caller, runId, at))
  }

  async #contextAt(caller: Caller, runId: string, at: ContextAt): Promise<Found<ContextAnswer>> {
    const now = await this.read(caller, runId, (state, head) => contextBody(state, head.digest))
    if (!now.ok) return now
    if (at.step === undefined && at.revision === undefined)
      return { ...now, value: await this.#readableContext(caller, runId, now.value) }

    const stream = runStream(caller.tenant, runId)
    const revision = at.revision ?? (await this.#revisionOfStep(stream, at.step ?? 0, caller.pace))
    if (revision === undefined || revision < 0 || revision > now.revision) {
      const request = at.step === undefined ? `revision ${at.revision}` : `step ${at.step}`
      return {
        ok: false,
        refusal: refusal('unknown-step', `the run has no ${request}`, { evidence: { revision: now.revision } }),
      }
    }
    const state = await this.#reader.stateAt(stream, revision, caller.pace)
    const event = await this.#reader.eventAt(stream, revision)
    const then = { ...contextBody(state, event?.digest ?? ''), revision }
    return { ok: true, revision: now.revision, value: await this.#readableContext(caller, runId, then) }
  }

  /** The context with the decrypted values of the events that established it; most contexts hold no marker. */
  async #readableContext(caller: Caller, runId: string, body: ContextAnswer): Promise<ContextAnswer> {
    const { subjects } = this.#deps
    if (subjects === undefined || !holdsMarker(body.context as Json)) return body
    const range = { from: 0, to: body.revision, pace: caller.pace }
    const reading = new RunValues(subjects)
    for await (const event of this.#events(runStream(caller.tenant, runId), range)) reading.take(event)
    return { ...body, context: reading.readable(body.context as Json) as ContextAnswer['context'] }
  }

  async #revisionOfStep(stream: string, step: number, pace: Pace | undefined): Promise<number | undefined> {
    for await (const event of this.#events(stream, { from: 0, pace })) {
      if (event.type === 'RunStarted' && step === (event.data.branchOf?.atStep ?? 0)) return 0
      if (event.type === 'EnvelopeAccepted' && event.data.step === step) return event.header.revision
    }
    return undefined
  }

  async *#events(
    stream: string,
    { pace, ...range }: { readonly from: number; readonly to?: number; readonly pace: Pace | undefined },
  ): AsyncGenerator<RecordedEvent> {
    const { store, sealer } = this.#deps
    for await (const page of pacedPages(store.readStream(stream, range), pace)) {
      for (const record of page) yield verifiedEvent(sealer, record)
    }
  }

  envelopes(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>> {
    return this.#listed(caller, runId, page, (event) => {
      if (event.type !== 'EnvelopeAccepted' && event.type !== 'EnvelopeRejected') return []
      const { v: _, ...body } = readable(this.#deps.subjects, event).data
      return [{ ...place(event), accepted: event.type === 'EnvelopeAccepted', ...(body as JsonObject) }]
    })
  }

  findings(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>> {
    return this.#listed(caller, runId, page, (event) => {
      if (event.type !== 'EnvelopeAccepted' && event.type !== 'EnvelopeRejected') return []
      const { agent, findings } = event.data
      if (findings === undefined) return []
      return [
        { ...place(event), agent, accepted: event.type === 'EnvelopeAccepted', findings: findings as readonly Json[] },
      ]
    })
  }

  /** Items made from the events of the run after a revision; `next` is the cursor of the next page. */
  #listed(
    caller: Caller,
    runId: string,
    page: RunPage,
    pick: (event: RecordedEvent) => JsonObject[],
  ): Promise<Found<JsonObject>> {
    const listed: Render<JsonObject> = ({ revision }) => {
      return async () => {
        const items: JsonObject[] = []
        let next: number | undefined
        const range = { from: page.after + 1, to: revision, pace: caller.pace }
        let bytes = 0
        for await (const event of this.#events(runStream(caller.tenant, runId), range)) {
          const picked = pick(event)
          const full = items.length >= page.limit || bytes >= PAGE_MAX_BYTES
          if (picked.length > 0 && full) break
          items.push(...picked)
          bytes += picked.length === 0 ? 0 : weigh(picked)
          if (items.length >= page.limit || bytes >= PAGE_MAX_BYTES) next = event.header.revision
        }
        return { items, ...(next !== undefined && next < revision ? { next } : {}) }
      }
    }
    return this.read(caller, runId, listed, page.at)
  }

  /** Calls in order of their latest claim; `after` is the revision of a claim. */
  calls(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>> {
    const stream = runStream(caller.tenant, runId)
    const listed: Render<JsonObject> = (state, _, leases) => {
      const all = Object.values(state.calls).filter((call) => call.claimRevision > page.after)
      const sorted = all.sort((a, b) => a.claimRevision - b.claimRevision)
      const query = sorted.slice(0, page.limit).map((call) => this.shown(state, call, leases))
      return async () => {
        const items: JsonObject[] = []
        let bytes = 0
        for (const call of query) {
          if (bytes >= PAGE_MAX_BYTES) break
          await caller.pace?.turn()
          const body = await this.callBody(stream, call)
          bytes += weigh(body)
          items.push(body)
        }
        const last = query[items.length - 1]
        return { items, ...(sorted.length > items.length && last && { next: last.claimRevision }) }
      }
    }
    return this.read(caller, runId, listed, page.at)
  }

  async call(caller: Caller, runId: string, callId: string): Promise<Found<JsonObject>> {
    const found = await this.read<JsonObject | undefined>(caller, runId, (state) => {
      const call = state.calls[safeKey(callId)]
      if (call === undefined) return undefined
      const shown = this.shown(state, call)
      return () => this.callBody(runStream(caller.tenant, runId), shown)
    })
    if (!found.ok) return found
    if (found.value !== undefined) return { ...found, value: found.value }
    return { ok: false, refusal: refusal('call-not-found', `this run has no call ${callId}`) }
  }

  /** The call as it is now. After its deadline a claim is overdue, but stays claimed until an event ends it (STR-2). */
  shown(state: RunState, call: CallState, leases: Leases = this.#deps.leases): ShownCall {
    const child = state.children[safeKey(call.callId)]
    return { ...call, ...(child !== undefined && { child }), ...overdue(state, call, leases) }
  }

  /** The call with its arguments and its outcome. */
  async callBody(stream: string, call: ShownCall): Promise<JsonObject> {
    const claim = await this.#reader.readableAt(stream, call.claimRevision)
    const args = claimedArguments(claim)
    const outcome = call.status === 'claimed' ? {} : await this.#reader.outcomeOf(stream, call)
    return { ...(call as unknown as JsonObject), ...args, ...outcome }
  }

  budget(
    caller: Caller,
    runId: string,
    page: ReservationsPage = { limit: RESERVATIONS_DEFAULT },
  ): Promise<Found<JsonObject>> {
    return this.read<JsonObject>(caller, runId, (state) => budgetPage(state, page), page.at)
  }

  async value(caller: Caller, runId: string, digest: string): Promise<Found<string>> {
    const found = await this.read(caller, runId, () => undefined)
    if (!found.ok) return found
    try {
      const text = await this.#deps.values.text({ tenant: caller.tenant, runId }, digest)
      if (text !== undefined) return { ok: true, value: text, revision: found.revision }
    } catch (error) {
      return { ok: false, refusal: loadRefusal(error, this.#deps.store) }
    }
    return { ok: false, refusal: refusal('value-not-found', `this run has no value ${digest}`) }
  }

  forks(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>> {
    return this.read(caller, runId, (state) => forksPage(state, page), page.at)
  }

  manifests(caller: Caller, runId: string): Promise<Found<JsonObject>> {
    return this.read(caller, runId, (state) => ({
      items: Object.values(state.manifests).map((each) => ({ ...each }) as unknown as JsonObject),
    }))
  }

  compensations(caller: Caller, runId: string): Promise<Found<JsonObject>> {
    return this.read<JsonObject>(caller, runId, (state) => {
      const open = state.compensations.map(({ compensationId }) => ({
        body: compensationBody(state, compensationId),
        plan: planOf(state, compensationId),
      }))
      const stream = runStream(caller.tenant, runId)
      return async () => {
        const items: JsonObject[] = []
        for (const { body, plan } of open) {
          items.push({ ...body, plan: await this.#reader.planDetails(stream, plan, caller.pace) })
        }
        return { items }
      }
    })
  }
}

// Pages of the long lists in the state of a run: reservations and forks. Their order is not changed by later entries.

/** Default number of reservations per page. */
const RESERVATIONS_DEFAULT = 100

/** All totals and limits, and a page of reservations ordered by id, which increases with time; `next` is present if there are more. */
function budgetPage(state: RunState, { after = '', limit }: ReservationsPage): JsonObject {
  const behind = Object.values(state.reservations).filter(({ reservationId }) => reservationId > after)
  const sorted = behind.sort((a, b) => (a.reservationId < b.reservationId ? -1 : 1))
  const shown = sorted.slice(0, limit)
  const last = shown.at(-1)
  return {
    ...budgetBody(state),
    agents: unslotted(state.spendByAgent, (spend) => ({ ...spend })),
    agentLimits: (state.limits.agents ?? {}) as JsonObject,
    reservations: shown.map((each) => ({ ...each }) as JsonObject),
    ...(sorted.length > shown.length && last !== undefined && { next: last.reservationId }),
  }
}

/** Oldest first; `after` is the revision of the start of a fork. */
function forksPage(state: RunState, { after, limit }: { readonly after: number; readonly limit: number }): JsonObject {
  const sorted = Object.values(state.forks)
    .filter(({ revision }) => revision > after)
    .sort((a, b) => a.revision - b.revision)
  const items: JsonObject[] = []
  let bytes = 0
  for (const fork of sorted) {
    if (items.length >= limit || bytes >= PAGE_MAX_BYTES) break
    const item = forkSummary(fork)
    bytes += weigh(item)
    items.push(item)
  }
  const last = sorted[items.length - 1]
  return { items, ...(sorted.length > items.length && last !== undefined && { next: last.revision }) }
}
