/**
 * @module A run as a story: handoffs, refusals, rewinds, calls and spend, folded from its events into the minimum that a picture needs. No payload is stored,
 * so that the story of ten thousand events remains small.
 */
import { canFold } from '../../../projections/body-versions.ts'
import { eachOf, ignore, type MakeTable, makeBy } from '../../../projections/fold-table.ts'
import type { RecordedEvent } from '../../../projections/projection.ts'
import { type BudgetState, foldBudget } from '../../../projections/run-budget.ts'
import { zeroSpend } from '../../../projections/run-state.ts'
import { isRunEventType } from '../../../schemas/events.ts'
import { subtractMoney } from '../../../schemas/money.ts'
import type { LedgerEvent } from '../../ledger/ledger-event.ts'
import { foldCall } from './calls.ts'
import { forkMark } from './fork-marks.ts'
import { foldModelSpend } from './model-spend.ts'
import type { Mark, MarkKind, RunStory, Span } from './story-parts.ts'

/** Longer texts are truncated; the event contains them in full. */
const TEXT_CHARS = 256

export function emptyStory(first = 0): RunStory {
  return {
    first,
    next: first,
    startedAt: '',
    endedAt: '',
    marks: [],
    spans: [],
    spanOf: new Map(),
    budgetPoints: [],
    budget: emptyBudget(),
    models: new Map(),
    delegated: { tokens: 0, cost: '0' },
  }
}

function emptyBudget(): BudgetState {
  return {
    agents: {},
    modelCallers: {},
    openReservations: {},
    refusals: {},
    refusalTimes: [],
    reservations: {},
    spend: zeroSpend(),
    spendByAgent: {},
  }
}

/** Folds events in order into the given story. */
export function foldStory(story: RunStory, events: readonly LedgerEvent[]): void {
  for (const event of events) {
    const { header } = event
    if (story.startedAt === '') story.startedAt = header.time
    story.endedAt = header.time
    story.next = header.revision + 1
    if (isRunEventType(header.type) && canFold(header.type, event.data.v)) {
      foldKnown(story, { type: header.type, data: event.data, header } as unknown as RecordedEvent)
    } else story.marks.push({ ...placeOf(header), kind: 'other', lane: '' })
  }
}

function foldKnown(story: RunStory, event: RecordedEvent): void {
  const before = { ...story.budget.spend }
  foldBudget(story.budget, event)
  const known = event.type === 'SnapshotTaken' ? event.data : event.type === 'EnvelopeAccepted' && event.data.snapshot
  if (known && story.first > 0) Object.assign(story.budget.spend, known.budget)
  if (event.type === 'RunStarted' && event.data.budget?.cost !== undefined) {
    story.budget.currency = event.data.budget.cost.currency
  }
  notePoint(story, event.header, before)
  if (event.type === 'UsageRecorded') foldModelSpend(story.models, event)
  if (foldCall(story, event)) return
  const mark = makeBy<RecordedEvent, RunStory, Mark>(MARKS, event, story)
  if (mark !== undefined) story.marks.push(mark)
}

function notePoint(story: RunStory, { revision, time }: RecordedEvent['header'], before: BudgetState['spend']): void {
  const { tokens, cost, reservedTokens, reservedCost } = story.budget.spend
  const same =
    before.tokens === tokens &&
    before.cost === cost &&
    before.reservedTokens === reservedTokens &&
    before.reservedCost === reservedCost
  if (!same || story.budgetPoints.length === 0) {
    story.budgetPoints.push({ revision, time, tokens, cost, reservedTokens, reservedCost })
  }
}

const placeOf = ({ type, revision, time }: RecordedEvent['header']) => ({ type, revision, time })

/** Event types that the picture shows in another way, or not at all, are ignored: calls, snapshots, leases, reservations. */
const MARKS = {
  ...ignore('SnapshotTaken', 'BudgetReserved', 'UsageRecorded', 'BudgetReleased', 'RunCarried'),
  ...ignore('ReservationExpired', 'ToolCallClaimed', 'ToolCallLeaseRenewed', 'ToolCallSucceeded', 'ToolCallFailed'),
  ...ignore('ToolCallInDoubt', 'ToolCallResolved', 'CompensationSucceeded', 'CompensationFailed'),
  ...ignore('CompensationInDoubt'),
  ToolDefinitionsSeen: markAs('bounds'),
  CaptureGap: markAs('withheld'),
  ...eachOf(markAs('related'), 'RunBranched', 'ChildRunStarted'),
  ...eachOf(markAs('withheld'), 'RedactionChanged', 'RunKeyDisclosed', 'ResultNotRecorded'),
  JudgementRecorded: markAs('judged'),
  SuspectReviewed: markAs('judged'),
  ManifestRegistered: ({ header, data }) => ({ ...placeOf(header), kind: 'bounds', lane: '', text: data.agent }),
  ...eachOf(forkMark, 'ForkStarted', 'BranchOffered', 'BranchReceived', 'ForkJoined'),
  RunStarted: ({ header, data }) => ({ ...placeOf(header), kind: 'start', lane: '', text: data.name }),
  EnvelopeAccepted: handoffMark,
  EnvelopeRejected: handoffMark,
  RunRewound: rewindMark,
  WaitStarted: markAs('wait'),
  WaitEnded: markAs('woken'),
  SignalReceived: markAs('signal'),
  SignalPassedOver: markAs('unheard'),
  ApprovalRequested: approvalMark('approval'),
  ApprovalGranted: approvalMark('granted'),
  ApprovalDenied: approvalMark('denied'),
  ...eachOf(approvalMark('lapsed'), 'ApprovalWithdrawn', 'ApprovalExpired'),
  RequestRefused: ({ header, data }) => ({ ...placeOf(header), kind: 'refused', lane: '', text: data.code }),
  BudgetExceeded: ({ header, data }) => ({
    ...placeOf(header),
    ...{ kind: 'refused', lane: data.agent, text: 'budget-exceeded' },
  }),
  CompensationStarted: ({ header, data }) => ({
    ...placeOf(header),
    kind: 'undo',
    lane: '',
    text: data.reason.slice(0, TEXT_CHARS),
  }),
  RunCompensated: ({ header, data }) => ({ ...placeOf(header), kind: 'undone', lane: '', text: data.status }),
  RunCompleted: ({ header }) => ({ ...placeOf(header), kind: 'completed', lane: '' }),
  RunFailed: ({ header, data }) => ({
    ...placeOf(header),
    ...{ kind: 'failed', lane: '', text: data.error.message.slice(0, TEXT_CHARS) },
  }),
  RunLeft: ({ header, data: { because, error } }) => ({
    ...placeOf(header),
    ...{ kind: 'left', lane: '', text: error === undefined ? because : leftText(error) },
  }),
  RunResumed: ({ header, data }) => ({ ...placeOf(header), kind: 'resumed', lane: '', text: `fence ${data.fence}` }),
} satisfies MakeTable<RecordedEvent, RunStory, Mark>

type OfApproval = Extract<RecordedEvent, { type: `Approval${string}` }>

function approvalMark(kind: MarkKind) {
  return ({ header, data }: OfApproval): Mark => ({ ...placeOf(header), kind, lane: '', text: data.tool })
}

/** For events whose label is sufficient. */
function markAs(kind: MarkKind) {
  return ({ header }: RecordedEvent): Mark => ({ ...placeOf(header), kind, lane: '' })
}

function rewindMark({ header, data }: Extract<RecordedEvent, { type: 'RunRewound' }>, story: RunStory): Mark {
  const { fromStep, toStep, snapshot, cause, reason } = data
  const before = story.marks.at(-1)
  const lane = before?.kind === 'rejected' ? before.lane : ''
  const text = reason === undefined ? {} : { text: reason.slice(0, TEXT_CHARS) }
  return { ...placeOf(header), kind: 'rewind', lane, fromStep, step: toStep, restores: snapshot, cause, ...text }
}

function handoffMark(
  { type, header, data }: Extract<RecordedEvent, { type: 'EnvelopeAccepted' | 'EnvelopeRejected' }>,
  story: RunStory,
): Mark {
  const { tokens, cost } = story.budget.spend
  const spent = { tokens: tokens - story.delegated.tokens, cost: subtractMoney(cost, story.delegated.cost) }
  story.delegated = { tokens, cost }
  const findings = type === 'EnvelopeRejected' ? data.findingsTotal : (data.findings?.length ?? 0)
  return {
    ...placeOf(header),
    kind: type === 'EnvelopeAccepted' ? 'accepted' : 'rejected',
    lane: data.agent,
    ...(type === 'EnvelopeAccepted' && { step: data.step }),
    ...(findings > 0 && { findings }),
    ...(data.supersedes !== undefined && data.supersedes.length > 0 && { supersedes: data.supersedes.length }),
    ...spent,
  }
}

/** Agents in order of appearance, after the run itself. */
export function lanesOf(marks: readonly Mark[], spans: readonly Span[]): readonly string[] {
  const seen = [
    ...marks.map(({ lane, revision }) => ({ lane, revision })),
    ...spans.map(({ lane, from }) => ({ lane, revision: from })),
  ]
  seen.sort((a, b) => a.revision - b.revision)
  return ['', ...new Set(seen.map(({ lane }) => lane).filter((lane) => lane !== ''))]
}

function leftText({ code, message }: { readonly code: string; readonly message: string }): string {
  return `${code}: ${message}`.slice(0, TEXT_CHARS)
}
