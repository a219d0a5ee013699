/** @module Folds the evidence of a run from its events: results of tools, failed calls, and since when its context has been established. */
import { ignore, type MakeTable, makeBy } from '../../../projections/fold-table.ts'
import type { RecordedEvent } from '../../../projections/projection.ts'
import { type RunState, safeKey } from '../../../projections/run-state.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { addEvidence, addToolResult, type Evidence } from '../../domain/validator/evidence.ts'
import { toolQuestion } from '../../domain/validator/grounding/answers.ts'
import { sinceAfter } from '../../domain/validator/grounding/established-since.ts'
import { saysFailed } from '../../domain/validator/grounding/failed-answers.ts'
import { forgetLeft, noteLeft } from '../../domain/validator/grounding/left-words.ts'
import { noteOutcome, takeQuestion } from '../../domain/validator/grounding/recorded-results.ts'
import { weigh } from '../../resources/memory-budget.ts'

export interface Folded {
  /** The state after the event. */
  readonly state: RunState
  /** The context before the event. */
  readonly before: JsonObject
}

/** The output of a model or an agent is a claim and not an observation; it would be evidence for itself. */
function isModelOutput(event: RecordedEvent, state: RunState): boolean {
  return 'callId' in event.data && state.calls[safeKey(event.data.callId ?? '')]?.phase === 'model'
}

export function foldResults(evidence: Evidence, event: RecordedEvent, { state, before }: Folded): void {
  if (state.context !== before) {
    // A rewind restores what was established at an earlier event.
    const revision = event.type === 'RunRewound' ? event.data.snapshot : event.header.revision
    evidence.results.since = sinceAfter(evidence.results.since, [before, state.context], revision)
    if (event.type === 'RunRewound') forgetLeft(evidence.results.left, revision)
    else noteLeft(evidence.results.left, [before, state.context], revision)
  }
  if (!isModelOutput(event, state)) makeBy(EVIDENCE_FOLDS, event, { evidence, state })
}

interface Hearing {
  readonly evidence: Evidence
  readonly state: RunState
}

/** Events that are no evidence are ignored: all except the input of a run, its calls, and the results of calls. */
const EVIDENCE_FOLDS = {
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
    'EnvelopeRejected',
    'SnapshotTaken',
  ),
  ...ignore('RunRewound', 'ToolCallClaimed', 'ToolCallLeaseRenewed', 'ToolCallInDoubt', 'ResultNotRecorded'),
  ...ignore('ToolDefinitionsSeen', 'CaptureGap'),
  ...ignore('CompensationStarted', 'CompensationFailed', 'CompensationInDoubt', 'BudgetReserved', 'UsageRecorded'),
  ...ignore('BudgetReleased', 'ReservationExpired', 'BudgetExceeded', 'ForkStarted', 'BranchOffered'),
  ...ignore('BranchReceived', 'ForkJoined'),
  ...ignore('EnvelopeAccepted'),
  RunStarted: (event, { evidence }) => {
    const { input, restored } = event.data
    if (input !== undefined) addEvidence(evidence, input)
    noteUnreadInput(evidence, event)
    if (restored !== undefined) addEvidence(evidence, restored)
  },
  ToolCallClaimed: ({ data: { callId, tool, phase, args, argsDigest } }, { evidence }) => {
    if (phase === 'forward') evidence.results.asked.set(callId, toolQuestion(tool, args, argsDigest))
  },
  ToolCallSucceeded: heardResult,
  CompensationSucceeded: heardResult,
  ToolCallResolved: heardResult,
  ToolCallFailed: (event, hearing) => {
    takeQuestion(hearing.evidence.results, event.data.callId)
    noteCall(event, hearing, true)
  },
} satisfies MakeTable<RecordedEvent, Hearing, void>

type Ended = Extract<
  RecordedEvent,
  { type: 'ToolCallSucceeded' | 'CompensationSucceeded' | 'ToolCallResolved' | 'ToolCallFailed' }
>
type WithResult = Exclude<Ended, { type: 'ToolCallFailed' }>

function heardResult(event: WithResult, hearing: Hearing): void {
  const { result, resultRef } = event.data
  const isFailed = event.type === 'ToolCallResolved' && event.data.outcome !== 'executed'
  const asked = hearing.evidence.results.asked.get(event.data.callId)
  noteCall(event, hearing, isFailed || saysFailed(result, asked))
  if (resultRef !== undefined && !isFailed) noteUnread(hearing.evidence, event)
  if (isFailed || (resultRef !== undefined && resultRef.kept !== false)) return
  takeQuestion(hearing.evidence.results, event.data.callId)
  // A result that cannot be read is still known to have arrived, so an earlier answer is no longer the latest.
  const value = result ?? null
  addToolResult(hearing.evidence, { value, revision: event.header.revision, asked, bytes: weigh(value) })
}

function noteCall({ data, header }: Ended, { evidence, state }: Hearing, isFailed: boolean): void {
  const call = state.calls[safeKey(data.callId)]
  if (call === undefined || call.phase !== 'forward') return
  noteOutcome(evidence.results, data.callId, { tool: call.tool, revision: header.revision }, isFailed)
}

/** Notes the input of the run if it is stored apart from the events. */
function noteUnreadInput(
  { unread }: Evidence,
  { data: { inputRef }, header }: Extract<RecordedEvent, { type: 'RunStarted' }>,
): void {
  if (inputRef !== undefined) unread.push({ digest: inputRef.digest, revision: header.revision })
}

/** Notes the reference to a result that is stored apart from the events. A result recorded only as a digest cannot be read. */
function noteUnread({ unread }: Evidence, { data, header }: WithResult): void {
  const { callId, resultRef } = data
  if (resultRef === undefined || resultRef.kept === false) return
  unread.push({ digest: resultRef.digest, callId, revision: header.revision })
}
