/** @module One event as a line of text, for tables. External text is quoted as it is; it is escaped when it is rendered. */
import { knowsBody } from '../../../projections/body-versions.ts'
import { ignore, type MakeTable, makeBy } from '../../../projections/fold-table.ts'
import type { RecordedEvent } from '../../../projections/projection.ts'
import { isRunEventType, RUN_EVENTS } from '../../../schemas/events.ts'
import { isJsonObject, type JsonObject } from '../../../schemas/json.ts'
import type { LedgerEvent } from '../../ledger/ledger-event.ts'
import { count, money, plural } from '../format.ts'
import { words } from '../picture/labels.ts'
import { verdictWords } from '../verdict-marks.ts'
import { clipped } from '../visible.ts'
import type { Span } from './story-parts.ts'

const TEXT_CHARS = 140

const OF_WHAT = /^(Tool call|Compensation)/

/** Tool names by call. */
export interface ToolNames {
  readonly spanOf: ReadonlyMap<string, Pick<Span, 'tool'>>
}

/** `story` provides the tool of an outcome: the outcome's body names the call only by its id. */
export function describeEvent({ header, data }: LedgerEvent, story?: ToolNames): string {
  const { type } = header
  if (!isRunEventType(type) || !knowsBody(type, data.v)) return words(type)
  const text = makeBy(TEXTS, { type, data, header } as unknown as RecordedEvent, undefined) ?? labelled(type, data)
  const { call } = RUN_EVENTS[type].changes
  const span = call === undefined || call === 'claimed' ? undefined : story?.spanOf.get(String(data.callId))
  return clipped(
    span === undefined
      ? text
      : text.replace(OF_WHAT, (what) => (what === 'Compensation' ? `${what} ${span.tool}` : span.tool)),
    2 * TEXT_CHARS,
  )
}

/** The type's label, and the error message if there is one. */
function labelled(type: string, { error }: JsonObject): string {
  const message = error !== undefined && isJsonObject(error) ? error.message : undefined
  return typeof message === 'string' ? `${words(type)}: ${clipped(message, TEXT_CHARS)}` : words(type)
}

const WAIT_ENDS = {
  signalled: 'A wait ended with a signal that was held',
  'timed-out': 'A wait for a signal timed out',
  elapsed: 'A sleep ended',
} as const

/** Ignored types need no more text than `labelled` provides. */
const TEXTS = {
  ...ignore('RunResumed', 'RunLeft', 'RunCarried', 'RunBranched', 'RunCompleted', 'RedactionChanged'),
  ...ignore('RunKeyDisclosed', 'ToolCallLeaseRenewed'),
  ...ignore('ToolCallSucceeded', 'ToolCallFailed', 'ToolCallInDoubt', 'ToolCallResolved', 'ResultNotRecorded'),
  ...ignore('CompensationSucceeded', 'CompensationFailed', 'CompensationInDoubt', 'ReservationExpired'),
  ...ignore('ForkStarted', 'BranchOffered', 'BranchReceived'),
  RunStarted: ({ data }) => `Run ${data.name} started`,
  ChildRunStarted: ({ data }) => `Run ${data.run} started within this one`,
  RunFailed: ({ data }) => `Run failed: ${clipped(data.error.message, TEXT_CHARS)}`,
  RunCompensated: ({ data }) => `Rollback ended: ${verdictWords(data.status)}`,
  ManifestRegistered: ({ data }) => `Manifest of ${data.agent} registered`,
  RequestRefused: ({ data }) => `Request refused: ${data.code}`,
  EnvelopeAccepted: ({ data: { agent, step, supersedes = [] } }) => {
    const more = supersedes.length === 0 ? '' : `, superseding ${plural(supersedes.length, 'value')}`
    return `Handoff of ${agent} accepted as step ${step}${more}`
  },
  EnvelopeRejected: ({ data }) => `Handoff of ${data.agent} refused with ${plural(data.findingsTotal, 'finding')}`,
  RunRewound: ({ data }) => `Rewound from step ${data.fromStep} to step ${data.toStep} (${data.cause})`,
  ApprovalRequested: ({ data: { tool, needs } }) =>
    `${tool} waits for approval: ${clipped(needs.map(({ reason }) => reason).join('; '), TEXT_CHARS)}`,
  ApprovalGranted: ({ data: { tool, complete } }) => `${tool} approved${complete ? '' : ', more approvals are needed'}`,
  ApprovalDenied: ({ data: { tool, comment } }) =>
    `${tool} denied${comment === undefined ? '' : `: ${clipped(comment, TEXT_CHARS)}`}`,
  ApprovalWithdrawn: ({ data: { tool } }) => `The approval of ${tool} was withdrawn: it has to be requested again`,
  ApprovalExpired: ({ data }) => `The approval of ${data.tool} expired`,
  WaitStarted: ({ data: { name, until } }) => {
    const what = name === undefined ? 'Sleeps' : `Waits for the signal ${clipped(name, TEXT_CHARS)}`
    return until === undefined ? what : `${what} until ${until}`
  },
  SignalReceived: ({ data: { name, waitId } }) =>
    `Signal ${clipped(name, TEXT_CHARS)} received${waitId === undefined ? ', and held' : ''}`,
  SignalPassedOver: ({ data }) => `Signal ${clipped(data.name, TEXT_CHARS)} does not fit what is waited for`,
  WaitEnded: ({ data }) => WAIT_ENDS[data.outcome],
  SuspectReviewed: ({ data }) =>
    `${data.suspects.length === 1 ? `Suspect ${data.suspects[0]}` : plural(data.suspects.length, 'suspect')} ${data.decision}`,
  JudgementRecorded: ({ data }) => `${data.judge} judged step ${data.step}: ${data.verdict}`,
  ToolDefinitionsSeen: ({ data: { server, count, outcome } }) =>
    `Definitions of ${count} tools of ${clipped(server, TEXT_CHARS)} seen${outcome === 'refused' ? ', and refused: they are not the pinned ones' : ''}`,
  CaptureGap: ({ data: { server, count } }) =>
    `${count} calls of ${clipped(server, TEXT_CHARS)} let through unrecorded`,
  SnapshotTaken: ({ data }) => `Snapshot of step ${data.step}`,
  ToolCallClaimed: ({ data: { tool, compensates, attempt } }) =>
    `${compensates === undefined ? 'Call' : 'Compensation'} ${tool} claimed${attempt > 1 ? `, attempt ${attempt}` : ''}`,
  CompensationStarted: ({ data }) => `Rollback started: ${clipped(data.reason, TEXT_CHARS)}`,
  BudgetReserved: ({ data }) => `Reserved for ${data.agent}: ${amount(data.tokens, data.cost, data.currency)}`,
  UsageRecorded: ({ data: { agent, usage } }) => {
    const { tokens, cost = '0', currency, model } = usage
    return `Used by ${agent}${model === undefined ? '' : ` on ${model}`}: ${amount(tokens, cost, currency)}`
  },
  BudgetReleased: () => 'Reservation released',
  BudgetExceeded: ({ data: { agent, dimension, requested, limit } }) =>
    `Budget refused ${requested} ${dimension} more to ${agent}: the limit is ${limit}`,
  ForkJoined: ({ data: { outcome } }) =>
    outcome === 'joined' ? 'Fork joined' : `Fork ended without a join: ${outcome}`,
} satisfies MakeTable<RecordedEvent, undefined, string>

function amount(tokens: number, cost: string, currency: string | undefined): string {
  const parts = [...(tokens > 0 ? [`${count(tokens)} tokens`] : []), ...(cost === '0' ? [] : [money(cost, currency)])]
  return parts.length === 0 ? 'nothing' : parts.join(', ')
}
