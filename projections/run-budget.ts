/** @module The fold of reservations and spending in a run. */
import type { EventBody, RunEventType } from '../schemas/events.ts'
import { addMoney, subtractMoney } from '../schemas/money.ts'
import { type FoldTable, foldBy, ignore } from './fold-table.ts'
import type { RecordedEvent } from './projection.ts'
import { countRefusal, refusalKey } from './refusals.ts'
import { type ReservationState, type RunState, type Spend, safeKey, zeroSpend } from './run-state.ts'

/** The part of a run's state for budgets, which the run list folds on its own. */
export type BudgetState = Pick<
  RunState,
  | 'agents'
  | 'currency'
  | 'modelCallers'
  | 'openReservations'
  | 'refusals'
  | 'refusalTimes'
  | 'reservations'
  | 'spend'
  | 'spendByAgent'
>

export function foldBudget(state: BudgetState, event: RecordedEvent): void {
  foldBy(BUDGET_FOLDS, state, event)
}

const BUDGET_FOLDS = {
  ...ignore('ApprovalRequested', 'ApprovalGranted', 'ApprovalDenied', 'ApprovalWithdrawn', 'ApprovalExpired'),
  ...ignore('WaitStarted', 'SignalReceived', 'SignalPassedOver', 'WaitEnded'),
  ...ignore(
    'RunStarted',
    'RunResumed',
    'RunLeft',
    'RunCarried',
    'RunBranched',
    'ChildRunStarted',
    'RunCompleted',
    'RunFailed',
    'RunCompensated',
  ),
  ...ignore(
    'JudgementRecorded',
    'SuspectReviewed',
    'RedactionChanged',
    'RunKeyDisclosed',
    'ManifestRegistered',
    'RequestRefused',
    'SnapshotTaken',
    'RunRewound',
  ),
  ...ignore('ToolCallLeaseRenewed', 'ToolCallSucceeded', 'ToolCallFailed', 'ToolCallInDoubt', 'ToolCallResolved'),
  ...ignore('ResultNotRecorded', 'CompensationStarted', 'CompensationSucceeded', 'CompensationFailed'),
  ...ignore('ToolDefinitionsSeen', 'CaptureGap'),
  ...ignore('CompensationInDoubt', 'ForkStarted', 'ForkJoined'),
  EnvelopeAccepted: foldEnvelopeTokens,
  EnvelopeRejected: foldEnvelopeTokens,
  BranchOffered: foldReport,
  BranchReceived: foldReport,
  ToolCallClaimed: (state, { phase, agent = '' }) => {
    if (phase === 'model') state.modelCallers[safeKey(agent)] = true
  },
  BudgetReserved: foldReserved,
  UsageRecorded: foldUsage,
  BudgetReleased: (state, { reservationId }) => {
    endReservation(state, reservationId, 'released')
  },
  ReservationExpired: foldExpired,
  BudgetExceeded: (state, { fingerprint }, header) =>
    countRefusal(state, refusalKey(header.actor, 'budget-exceeded', fingerprint), header),
} satisfies FoldTable<BudgetState>

export function isOnBudget(type: RunEventType): boolean {
  return BUDGET_FOLDS[type] !== null
}

/** Only a branch's report is charged; the BranchReceived of a join has no report and costs nothing. */
function foldReport(state: BudgetState, data: EventBody<'BranchOffered'> | EventBody<'BranchReceived'>): void {
  if (data.report !== undefined) foldEnvelopeTokens(state, data)
}

/** An envelope's tokens are charged only if its agent recorded no model call since its last envelope (RUN-48). This includes refused envelopes. */
function foldEnvelopeTokens(
  state: BudgetState,
  { agent, tokens }: { readonly agent: string; readonly tokens?: number | undefined },
): void {
  const { modelCallers } = state
  if (tokens !== undefined && !isCharged(state, agent)) change(state, agent, { tokens })
  const own = safeKey(agent)
  if (modelCallers[own] !== undefined) delete modelCallers[own]
  if (modelCallers[NO_AGENT] !== undefined) delete modelCallers[NO_AGENT]
}

/** The tokens by which an envelope increases the spending. */
export function envelopeCharge(
  state: BudgetState,
  { agent, tokens = 0 }: { readonly agent: string; readonly tokens?: number | undefined },
): number {
  return tokens === 0 || isCharged(state, agent) ? 0 : tokens
}

/** Slot of calls that name no agent. */
const NO_AGENT = safeKey('')

function isCharged({ modelCallers }: BudgetState, agent: string): boolean {
  return modelCallers[safeKey(agent)] ?? modelCallers[NO_AGENT] ?? false
}

function foldReserved(state: BudgetState, data: EventBody<'BudgetReserved'>): void {
  const { reservationId, agent, tokens, cost, deadline, callId } = data
  state.reservations[safeKey(reservationId)] = {
    reservationId,
    agent,
    tokens,
    cost,
    deadline,
    ...(callId === undefined ? {} : { callId }),
    status: 'open',
  }
  state.openReservations[safeKey(reservationId)] = true
  state.agents[safeKey(agent)] = true
  if (data.currency !== undefined) state.currency ??= data.currency
  change(state, agent, { reservedTokens: tokens, reservedCost: cost })
}

function foldUsage(state: BudgetState, data: EventBody<'UsageRecorded'>): void {
  const { agent, usage, reservationId } = data
  if (usage.currency !== undefined) state.currency ??= usage.currency
  const reservation = reservationId === undefined ? undefined : state.reservations[safeKey(reservationId)]
  if (reservation?.status === 'open') endReservation(state, reservation.reservationId, 'settled')
  if (reservation?.status === 'expired') {
    reservation.status = 'settled'
    change(state, reservation.agent, { tokens: -reservation.tokens, cost: negated(reservation.cost) })
  }
  state.agents[safeKey(agent)] = true
  change(state, agent, { tokens: usage.tokens, cost: usage.cost ?? '0' })
}

function foldExpired(state: BudgetState, { reservationId }: EventBody<'ReservationExpired'>): void {
  const reservation = endReservation(state, reservationId, 'expired')
  if (reservation === undefined) return
  change(state, reservation.agent, { tokens: reservation.tokens, cost: reservation.cost })
}

function endReservation(
  state: BudgetState,
  reservationId: string,
  status: 'settled' | 'released' | 'expired',
): ReservationState | undefined {
  const reservation = state.reservations[safeKey(reservationId)]
  if (reservation === undefined || reservation.status !== 'open') return undefined
  reservation.status = status
  delete state.openReservations[safeKey(reservationId)]
  change(state, reservation.agent, { reservedTokens: -reservation.tokens, reservedCost: negated(reservation.cost) })
  return reservation
}

function negated(cost: string): string {
  return subtractMoney('0', cost)
}

function change(state: BudgetState, agent: string, by: Partial<Spend>): void {
  const ofAgent = state.spendByAgent[safeKey(agent)] ?? zeroSpend()
  state.spendByAgent[safeKey(agent)] = ofAgent
  for (const spend of [state.spend, ofAgent]) {
    spend.tokens += by.tokens ?? 0
    spend.reservedTokens += by.reservedTokens ?? 0
    spend.cost = addMoney(spend.cost, by.cost ?? '0')
    spend.reservedCost = addMoney(spend.reservedCost, by.reservedCost ?? '0')
  }
}
