/** @module One event in one line of words, for tables. What came from outside is quoted as it is; it is escaped where it is shown. */
import type { RecordedEvent } from '../../../projections/projection.ts'
import { isRunEventType } from '../../../schemas/events.ts'
import type { LedgerEvent } from '../../ledger/ledger.ts'
import { count, money, plural } from '../format.ts'
import { words } from '../picture/labels.ts'
import { clipped } from '../visible.ts'
import type { RunStory } from './run-story.ts'

const TEXT_CHARS = 140

/** Of a call that was claimed before; its body names the call by its id alone. */
const OUTCOME = /^(ToolCall(?!Claimed)|CompensationSucceeded|CompensationFailed|CompensationInDoubt)/
const OF_WHAT = /^(Tool call|Compensation)/

/** `story` knows what tool an outcome is of. */
export function describeEvent({ header, data }: LedgerEvent, story?: Pick<RunStory, 'spanOf'>): string {
  if (!isRunEventType(header.type) || data.v !== 1) return words(header.type)
  const text = describeKnown({ type: header.type, data, header } as unknown as RecordedEvent)
  const span = OUTCOME.test(header.type) ? story?.spanOf.get(String(data.callId)) : undefined
  return clipped(span === undefined ? text : text.replace(OF_WHAT, () => `${span.tool}`), 2 * TEXT_CHARS)
}

function describeKnown(event: RecordedEvent): string {
  switch (event.type) {
    case 'RunStarted':
      return `Run ${event.data.name} started`
    case 'EnvelopeAccepted':
    case 'EnvelopeRejected':
    case 'RunRewound':
    case 'SnapshotTaken':
      return describeHandoff(event)
    case 'BudgetReserved':
    case 'UsageRecorded':
    case 'BudgetReleased':
    case 'BudgetExceeded':
      return describeBudget(event)
    case 'ManifestRegistered':
      return `Manifest of ${event.data.agent} registered`
    case 'RequestRefused':
      return `Request refused: ${event.data.code}`
    case 'CompensationStarted':
      return `Rollback started: ${clipped(event.data.reason, TEXT_CHARS)}`
    case 'RunCompensated':
      return `Rollback ended: ${event.data.status}`
    case 'RunFailed':
      return `Run failed: ${clipped(event.data.error.message, TEXT_CHARS)}`
    default:
      return describeCall(event)
  }
}

type Handoff = Extract<
  RecordedEvent,
  { type: 'EnvelopeAccepted' | 'EnvelopeRejected' | 'RunRewound' | 'SnapshotTaken' }
>

function describeHandoff(event: Handoff): string {
  switch (event.type) {
    case 'EnvelopeAccepted': {
      const changes = event.data.supersedes?.length ?? 0
      const more = changes === 0 ? '' : `, superseding ${plural(changes, 'value')}`
      return `Handoff of ${event.data.agent} accepted as step ${event.data.step}${more}`
    }
    case 'EnvelopeRejected':
      return `Handoff of ${event.data.agent} refused with ${plural(event.data.findingsTotal, 'finding')}`
    case 'RunRewound':
      return `Rewound from step ${event.data.fromStep} to step ${event.data.toStep} (${event.data.cause})`
    case 'SnapshotTaken':
      return `Snapshot of step ${event.data.step}`
  }
}

type Budget = Extract<RecordedEvent, { type: 'BudgetReserved' | 'UsageRecorded' | 'BudgetReleased' | 'BudgetExceeded' }>

function describeBudget(event: Budget): string {
  switch (event.type) {
    case 'BudgetReserved':
      return `Reserved for ${event.data.agent}: ${amount(event.data.tokens, event.data.cost, event.data.currency)}`
    case 'UsageRecorded': {
      const { tokens, cost = '0', currency, model } = event.data.usage
      return `Used by ${event.data.agent}${model === undefined ? '' : ` on ${model}`}: ${amount(tokens, cost, currency)}`
    }
    case 'BudgetReleased':
      return 'Reservation released'
    case 'BudgetExceeded': {
      const { agent, dimension, requested, limit } = event.data
      return `Budget refused ${requested} ${dimension} more to ${agent}: the limit is ${limit}`
    }
  }
}

function amount(tokens: number, cost: string, currency: string | undefined): string {
  const parts = [...(tokens > 0 ? [`${count(tokens)} tokens`] : []), ...(cost === '0' ? [] : [money(cost, currency)])]
  return parts.length === 0 ? 'nothing' : parts.join(', ')
}

function describeCall(event: RecordedEvent): string {
  if (event.type === 'ToolCallClaimed') {
    const what = event.data.compensates === undefined ? 'Call' : 'Compensation'
    return `${what} ${event.data.tool} claimed${event.data.attempt > 1 ? `, attempt ${event.data.attempt}` : ''}`
  }
  const error = 'error' in event.data ? event.data.error : undefined
  return `${words(event.type)}${error === undefined ? '' : `: ${clipped(error.message, TEXT_CHARS)}`}`
}
