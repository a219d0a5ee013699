/**
 * @module Lists the charges of each event, so that a run's spending can be summed by run, agent, model and period. Their sum equals the
 * total of the run's own fold (`run-budget.ts`); a test checks that the two agree.
 */
import type { EventBody, RunEventType } from '../schemas/events.ts'
import type { Json, JsonObject } from '../schemas/json.ts'
import { subtractMoney } from '../schemas/money.ts'
import { ignore } from './fold-table.ts'
import type { RecordedEvent } from './projection.ts'
import { type Slots, safeKey } from './run-state.ts'

export interface Charge {
  readonly agent: string
  /** Negative in the correction of an estimate. */
  readonly tokens: number
  /** Decimal string; negative in the correction of an estimate. */
  readonly cost: string
  readonly currency?: string
  readonly provider?: string
  readonly model?: string
  /** Charged in full for a reservation whose deadline passed, which a late settle reverses; or the usage says so of itself. */
  readonly estimated?: true
}

interface HeldReservation {
  readonly agent: string
  readonly tokens: number
  readonly cost: string
  readonly provider?: string
  readonly model?: string
  expired?: true
}

/** Plain JSON, so that it can be stored; holds only unsettled data. */
export interface ChargeState {
  currency?: string
  readonly modelCallers: Slots<true>
  readonly held: Slots<HeldReservation>
}

export const noCharges = (): ChargeState => ({ modelCallers: {}, held: {} })

type ChargesOf<T extends RunEventType> = (state: ChargeState, data: EventBody<T>) => readonly Charge[]

/** Charges by type, for the types that the catalogue declares to change the bill; `null` for the others. */
const CHARGES = {
  ...ignore('ApprovalRequested', 'ApprovalGranted', 'ApprovalDenied', 'ApprovalWithdrawn', 'ApprovalExpired'),
  ...ignore('WaitStarted', 'SignalReceived', 'SignalPassedOver', 'WaitEnded'),
  ...ignore(
    'RunResumed',
    'RunLeft',
    'RunCarried',
    'RunBranched',
    'ChildRunStarted',
    'RunCompleted',
    'RunFailed',
    'RunCompensated',
    'RedactionChanged',
    'RunKeyDisclosed',
  ),
  ...ignore(
    'JudgementRecorded',
    'SuspectReviewed',
    'ManifestRegistered',
    'RequestRefused',
    'SnapshotTaken',
    'RunRewound',
    'ToolCallLeaseRenewed',
  ),
  ...ignore('ToolCallSucceeded', 'ToolCallFailed', 'ToolCallInDoubt', 'ToolCallResolved', 'ResultNotRecorded'),
  ...ignore('ToolDefinitionsSeen', 'CaptureGap'),
  ...ignore('CompensationStarted', 'CompensationSucceeded', 'CompensationFailed', 'CompensationInDoubt'),
  ...ignore('BudgetExceeded', 'ForkStarted', 'ForkJoined'),
  RunStarted: (state, { budget }) => {
    noteCurrency(state, budget?.cost?.currency)
    return []
  },
  EnvelopeAccepted: envelopeCharge,
  EnvelopeRejected: envelopeCharge,
  BranchOffered: reportCharge,
  BranchReceived: reportCharge,
  ToolCallClaimed: (state, { phase, agent = '' }) => {
    if (phase === 'model') state.modelCallers[safeKey(agent)] = true
    return []
  },
  BudgetReserved: hold,
  UsageRecorded: usageCharges,
  BudgetReleased: (state, { reservationId }) => {
    if (state.held[safeKey(reservationId)]?.expired === undefined) delete state.held[safeKey(reservationId)]
    return []
  },
  ReservationExpired: estimate,
} satisfies { readonly [T in RunEventType]: ChargesOf<T> | null }

/** Whether events of this type change the state or cause charges. */
export function isCharging(type: RunEventType): boolean {
  return CHARGES[type] !== null
}

const CHARGED_MEMBERS = [
  'agent',
  'tokens',
  'cost',
  'currency',
  'provider',
  'model',
  'usage',
  'budget',
  'phase',
  'reservationId',
] as const

/** The members of a body that `foldCharges` reads; a report is reduced to its presence. */
export function chargedPart(data: JsonObject): JsonObject {
  const part: { [name: string]: Json } = {}
  for (const name of CHARGED_MEMBERS) {
    const value = data[name]
    if (value !== undefined) part[name] = value
  }
  if (data.report !== undefined) part.report = true
  return part
}

/** Updates the state and returns the charges of the event. `data` may be the result of `chargedPart`. */
export function foldCharges(state: ChargeState, { type, data }: RecordedEvent): readonly Charge[] {
  // The table pairs each type with a function for its own body.
  const charges = CHARGES[type] as ((state: ChargeState, data: RecordedEvent['data']) => readonly Charge[]) | null
  return charges?.(state, data) ?? []
}

/** Only a branch's report is charged; the BranchReceived of a join has no report and costs nothing. */
function reportCharge(
  state: ChargeState,
  data: EventBody<'BranchOffered'> | EventBody<'BranchReceived'>,
): readonly Charge[] {
  return data.report === undefined ? [] : envelopeCharge(state, data)
}

function noteCurrency(state: ChargeState, currency: string | undefined): void {
  if (currency !== undefined) state.currency ??= currency
}

function inCurrency({ currency }: ChargeState): { currency?: string } {
  return currency === undefined ? {} : { currency }
}

/** Charges an envelope's tokens unless a model call was recorded since the agent's last envelope (RUN-48). */
function envelopeCharge(
  state: ChargeState,
  { agent, tokens }: { readonly agent: string; readonly tokens?: number | undefined },
): readonly Charge[] {
  const charged = state.modelCallers[safeKey(agent)] ?? state.modelCallers[safeKey('')] ?? false
  delete state.modelCallers[safeKey(agent)]
  delete state.modelCallers[safeKey('')]
  return tokens === undefined || tokens === 0 || charged ? [] : [{ agent, tokens, cost: '0', ...inCurrency(state) }]
}

function hold(state: ChargeState, data: EventBody<'BudgetReserved'>): readonly Charge[] {
  const { reservationId, agent, tokens, cost, currency, provider, model } = data
  noteCurrency(state, currency)
  state.held[safeKey(reservationId)] = { agent, tokens, cost, ...modelFields({ provider, model }) }
  return []
}

function usageCharges(state: ChargeState, data: EventBody<'UsageRecorded'>): readonly Charge[] {
  const { agent, usage, reservationId } = data
  noteCurrency(state, usage.currency)
  const held = reservationId === undefined ? undefined : state.held[safeKey(reservationId)]
  if (reservationId !== undefined) delete state.held[safeKey(reservationId)]
  const { provider = held?.provider, model = held?.model } = usage
  const { tokens, cost = '0', estimated } = usage
  const spent = { agent, tokens, cost, ...inCurrency(state), ...modelFields({ provider, model }) }
  const charge: Charge = { ...spent, ...(estimated === true && { estimated }) }
  return held?.expired === undefined ? [charge] : [reversed(held, state), charge]
}

function estimate(state: ChargeState, { reservationId }: EventBody<'ReservationExpired'>): readonly Charge[] {
  const held = state.held[safeKey(reservationId)]
  if (held === undefined || held.expired !== undefined) return []
  held.expired = true
  const { expired: _, ...charge } = held
  return [{ ...charge, ...inCurrency(state), estimated: true }]
}

function reversed({ expired: _, ...held }: HeldReservation, state: ChargeState): Charge {
  const { tokens, cost } = held
  return { ...held, tokens: -tokens, cost: subtractMoney('0', cost), ...inCurrency(state), estimated: true }
}

function modelFields(by: { provider: string | undefined; model: string | undefined }): {
  provider?: string
  model?: string
} {
  return {
    ...(by.provider !== undefined && { provider: by.provider }),
    ...(by.model !== undefined && { model: by.model }),
  }
}
