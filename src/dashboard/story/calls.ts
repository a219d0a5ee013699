/** @module Tool calls as spans, from claim to outcome, including compensations. */
import { ratingOf } from '../../../projections/event-facts.ts'
import type { RecordedEvent } from '../../../projections/projection.ts'
import { RUN_EVENTS } from '../../../schemas/events.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { RunStory, Span, SpanStatus } from './story-parts.ts'

/** Returns true if the event belongs to a call and is shown as part of its span. */
export function foldCall(story: RunStory, event: RecordedEvent): boolean {
  const { call, undoing } = RUN_EVENTS[event.type].changes
  if (call === undefined || !('callId' in event.data)) return false
  if (event.type === 'ToolCallClaimed') claim(story, event)
  if (call === 'claimed' || call === 'renewed') return true
  const { callId } = event.data
  end(story, event, { callId: String(callId), status: statusOf(event, call) })
  if (undoing === 'succeeded' && 'compensates' in event.data) markUndone(story, String(event.data.compensates))
  return true
}

function statusOf(event: RecordedEvent, call: 'settled' | 'in-doubt'): SpanStatus {
  if (call === 'in-doubt') return call
  if (event.type === 'ToolCallResolved')
    return ({ executed: 'succeeded', compensated: 'undone', 'not-executed': 'failed' } as const)[event.data.outcome]
  return ratingOf(RUN_EVENTS[event.type], event.data as JsonObject).outcome === 'success' ? 'succeeded' : 'failed'
}

function claim(story: RunStory, { data, header }: Extract<RecordedEvent, { type: 'ToolCallClaimed' }>): void {
  const { callId, tool, phase, agent, attempt, compensates } = data
  const forward = compensates === undefined ? undefined : story.spanOf.get(compensates)
  const span: Span = {
    callId,
    tool,
    phase,
    attempt,
    lane: agent ?? forward?.lane ?? '',
    from: header.revision,
    fromTime: header.time,
    status: 'open',
    ...(compensates === undefined ? {} : { compensates }),
  }
  story.spans.push(span)
  story.spanOf.set(callId, span)
}

function end(
  story: RunStory,
  { header }: RecordedEvent,
  { callId, status }: { readonly callId: string; readonly status: SpanStatus },
): void {
  const span = story.spanOf.get(callId) ?? earlierClaim(story, callId)
  span.to = header.revision
  span.toTime = header.time
  span.status = status
}

/** The span of a call whose claim is before the folded part of the run. */
function earlierClaim(story: RunStory, callId: string): Span {
  const span: Span = {
    callId,
    tool: 'claimed earlier',
    phase: 'forward',
    lane: '',
    attempt: 1,
    from: story.first,
    fromTime: story.startedAt,
    status: 'open',
  }
  story.spans.push(span)
  story.spanOf.set(callId, span)
  return span
}

function markUndone(story: RunStory, callId: string): void {
  const span = story.spanOf.get(callId)
  if (span !== undefined) span.status = 'undone'
}
