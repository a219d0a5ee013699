/** @module Rows of an answer that are sums of what was spent. */
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import type { Header } from '../../../schemas/header.ts'
import { CLAIM, factsOf, fitsFilter, REJECTED } from './event-facts.ts'
import type { Row } from './event-rows.ts'
import { type BundleEvent, hasBody, type LoggedEvent } from './gathered.ts'
import { addMoney, negative } from './money.ts'
import { runOf } from './query.ts'
import { byBytes, RUNS_MAX, TOO_MANY_RUNS } from './run-rows.ts'
import { Stop } from './verdict.ts'

/** What a run or a call was charged with. */
interface Charge {
  readonly agent: string | undefined
  readonly tokens: number
  readonly cost: string
  readonly provider?: string | undefined
  readonly model?: string | undefined
  /** Whether an expired reservation is charged, or such a charge is taken back. */
  readonly isEstimated?: boolean
}

/** A reservation that is not settled. */
interface Held extends Charge {
  isExpired?: boolean
}

interface RunBill {
  currency: string | undefined
  readonly callers: Set<string | undefined>
  readonly held: Map<string, Held>
}

interface Sum {
  readonly key: string
  readonly currency: string
  readonly reported: Amount
  readonly estimated: Amount
}

interface Amount {
  readonly tokens: number
  readonly cost: string
}

const NO_AMOUNT: Amount = { tokens: 0, cost: '0' }

const sumOf = (a: Amount, b: Amount): Amount => ({ tokens: a.tokens + b.tokens, cost: addMoney(a.cost, b.cost) })

/** What an event that charges a run says: which of the members are there, its type says. */
interface ChargingEvent {
  readonly header: Header
  readonly data: {
    readonly agent?: string
    readonly phase?: string
    readonly tokens: number
    readonly cost: string
    readonly reservationId: string
    readonly currency?: string
    readonly provider?: string
    readonly model?: string
    readonly report?: unknown
    readonly usage: Spent
    readonly budget?: { readonly cost?: { readonly currency?: string } }
  }
}

interface Spent {
  readonly tokens: number
  readonly estimated?: boolean
  readonly cost?: string
  readonly currency?: string
  readonly provider?: string
  readonly model?: string
}

type SpendKey = 'run' | 'agent' | 'model' | 'day' | 'month' | 'tenant'

/** Rows that are sums of what the events of runs were charged with. */
export class SpendRows {
  #question: AnswerQuestion
  #tenant: string
  #states = new Map<string, RunBill>()
  #sums = new Map<string, Sum>()

  constructor(question: AnswerQuestion, _: unknown, tenant: string) {
    this.#question = question
    this.#tenant = tenant
  }

  gather(event: LoggedEvent): void {
    if (!hasBody(event) || runOf(event.header.stream) === undefined) return
    const { stream } = event.header
    const state: RunBill = this.#states.get(stream) ?? { currency: undefined, callers: new Set(), held: new Map() }
    this.#states.set(stream, state)
    for (const charge of chargesOf(state, event as unknown as ChargingEvent)) this.#add(event, charge, state.currency)
    if (Math.max(this.#states.size, this.#sums.size) > RUNS_MAX || state.held.size + state.callers.size > HELD_MAX)
      throw new Stop('UNVERIFIABLE', 'too-large', TOO_MANY_RUNS)
  }

  nextPass(): boolean {
    return false
  }

  rows(): Row[] {
    return []
  }

  *rest(): Generator<Row, void> {
    const { by = 'run', estimates } = this.#question
    const order = (a: Sum, b: Sum) => byBytes(a.key, b.key) || byBytes(a.currency, b.currency)
    for (const { key, reported, estimated, currency } of [...this.#sums.values()].sort(order)) {
      const { tokens: reportedTokens, cost: reportedCost } = reported
      const { tokens: estimatedTokens, cost: estimatedCost } = estimated
      const parts = { reportedTokens, reportedCost, estimatedTokens, estimatedCost }
      const whole = { key, by, ...sumOf(reported, estimated), ...(estimates && parts) }
      yield { ...whole, currency: currency === '' ? null : currency }
    }
  }

  #add(event: BundleEvent, { agent, provider, model, ...charge }: Charge, currency = ''): void {
    const { run, since, until, actor, principal, ...said } = this.#question.filter
    const facts = { ...factsOf(event), agent, provider, model }
    if (!fitsFilter(facts, { run, since, until, actor, principal, ...said })) return
    const { time } = event.header
    const tenant = this.#tenant
    const keys = { run: facts.run, agent, model: model ?? '', day: time.slice(0, 10), month: time.slice(0, 7), tenant }
    const key = keys[(this.#question.by ?? 'run') as SpendKey] as string
    const name = JSON.stringify([key, currency])
    const sum = this.#sums.get(name) ?? { key, currency, reported: NO_AMOUNT, estimated: NO_AMOUNT }
    const part = charge.isEstimated ? 'estimated' : 'reported'
    this.#sums.set(name, { ...sum, [part]: sumOf(sum[part], charge) })
  }
}

/** Reservations of one run that are not settled, and agents with a model call since their last envelope. */
const HELD_MAX = 100_000

/** What an event adds to the bill of its run; an estimate for an expired reservation is taken back when it is settled after all. */
function chargesOf(state: RunBill, { header: { type }, data }: ChargingEvent): readonly Charge[] {
  const { agent = '', tokens, reservationId, usage = {} as Spent } = data
  const noteCurrency = (currency: string | undefined) => {
    state.currency ??= currency
  }
  const held = state.held.get(reservationId)
  switch (type) {
    case 'RunStarted':
      noteCurrency(data.budget?.cost?.currency)
      return []
    case 'EnvelopeAccepted':
    case REJECTED:
      return envelopeCharge(state, data)
    case 'BranchOffered':
    case 'BranchReceived':
      return data.report === undefined ? [] : envelopeCharge(state, data)
    case CLAIM:
      if (data.phase === 'model') state.callers.add(agent)
      return []
    case 'BudgetReserved':
      noteCurrency(data.currency)
      state.held.set(reservationId, { agent, tokens, cost: data.cost, provider: data.provider, model: data.model })
      return []
    case 'BudgetReleased':
      if (held?.isExpired === undefined) state.held.delete(reservationId)
      return []
    case 'ReservationExpired':
      if (held === undefined || held.isExpired) return []
      held.isExpired = true
      return [{ ...held, isEstimated: true }]
    case 'UsageRecorded': {
      noteCurrency(usage.currency)
      if (reservationId !== undefined) state.held.delete(reservationId)
      const { provider = held?.provider, model = held?.model } = usage
      const spent = { agent, tokens: usage.tokens, cost: usage.cost ?? '0', provider, model }
      const charge: Charge = { ...spent, isEstimated: usage.estimated === true }
      if (!held?.isExpired) return [charge]
      return [{ ...held, tokens: -held.tokens, cost: negative(held.cost), isEstimated: true }, charge]
    }
    default:
      return []
  }
}

function envelopeCharge(state: RunBill, { agent, tokens }: ChargingEvent['data']): readonly Charge[] {
  const isCharged = state.callers.has(agent) || state.callers.has('')
  state.callers.delete(agent)
  state.callers.delete('')
  return tokens === undefined || tokens === 0 || isCharged ? [] : [{ agent, tokens, cost: '0' }]
}
