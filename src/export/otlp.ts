/**
 * @module OTLP/JSON traces: a run is a trace; its handoffs, calls and model calls are spans with `gen_ai.*` names (semantic conventions of generative AI, in
 * development) and the span kinds and costs of OpenInference. A span is written when it ends, so that only open spans are kept in memory. Payloads are left
 * out: the conventions make content opt-in.
 */
import { eachOf } from '../../projections/fold-table.ts'
import type { EventType } from '../../schemas/events.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import { type ExportFormat, type ExportScope, textOf } from './format.ts'
import { callSpan, type OpenCall, openCall, usageAttributes, usageSpan } from './otlp-call.ts'
import { linkOf, resourceLine, SPAN_KIND, SPAN_STATUS, type Span, spanLine } from './otlp-span.ts'
import { runOf } from './run-of.ts'

export const otlp: ExportFormat = {
  contentType: 'application/x-ndjson',
  extension: 'otlp.jsonl',
  isByEvent: false,
  open: (scope) => {
    const spans = new RunSpans(scope)
    return {
      head: '',
      event: (event) => spans.take(event),
      before: (event) => {
        spans.take(event)
      },
      rest: () => (scope.part === undefined ? spans.rest() : ''),
      trailer: (trailer) => resourceLine(scope, { 'countersign.export.trailer': JSON.stringify(trailer) }),
    }
  },
}

/** The role of each event type for the spans of its run. */
const ROLES = {
  ...eachOf('run-start', 'RunStarted'),
  ...eachOf('run-end', 'RunCompleted', 'RunFailed', 'RunCompensated'),
  ...eachOf('step', 'EnvelopeAccepted', 'EnvelopeRejected'),
  ...eachOf('claim', 'ToolCallClaimed'),
  ...eachOf('usage', 'UsageRecorded'),
  ...eachOf('doubt', 'ToolCallInDoubt', 'CompensationInDoubt'),
  ...eachOf('outcome', 'ToolCallSucceeded', 'ToolCallFailed', 'ToolCallResolved'),
  ...eachOf('outcome', 'CompensationSucceeded', 'CompensationFailed'),
  ...eachOf(
    'moment',
    'JudgementRecorded',
    'SuspectReviewed',
    'RunRewound',
    'RequestRefused',
    'BudgetExceeded',
    'CompensationStarted',
  ),
  ...eachOf('moment', 'ApprovalRequested', 'ApprovalGranted', 'ApprovalDenied', 'ApprovalWithdrawn', 'ApprovalExpired'),
  ...eachOf('moment', 'WaitStarted', 'SignalReceived', 'SignalPassedOver', 'WaitEnded'),
  ...eachOf('moment', 'ToolDefinitionsSeen', 'CaptureGap'),
  ...eachOf(
    'none',
    'RunResumed',
    'RunLeft',
    'RunCarried',
    'RunBranched',
    'ChildRunStarted',
    'RedactionChanged',
    'RunKeyDisclosed',
    'ManifestRegistered',
    'SnapshotTaken',
  ),
  ...eachOf('none', 'ToolCallLeaseRenewed', 'ResultNotRecorded', 'BudgetReserved', 'BudgetReleased'),
  ...eachOf('none', 'ReservationExpired', 'ForkStarted', 'BranchOffered', 'BranchReceived', 'ForkJoined'),
  ...eachOf(
    'none',
    'LedgerCreated',
    'KeyRotated',
    'LogKeyRotated',
    'ServiceStarted',
    'ServiceStopped',
    'ConfigurationChanged',
    'TokenIssued',
    'CheckpointSigned',
    'CheckpointTimestamped',
    'IntegrityFaultFound',
    'LossAcknowledged',
    'ErasureRequested',
    'SubjectErased',
    'HoldPlaced',
    'HoldReleased',
    'RunsArchived',
    'ReviewSigned',
    'TokenRevoked',
  ),
  ...eachOf('none', 'ExportStarted', 'ExportIssued', 'AccessRecorded', 'ValueStored'),
} satisfies Record<EventType, string>

/** Limits of the open runs and of the open calls of one export: beyond it, the oldest is written as still open. */
const OPEN_MAX = 1_000

/** Key of a run's root span. */
export const ROOT = 'run'

interface OpenRun {
  readonly name: string
  readonly start: string
  readonly link: ReturnType<typeof linkOf>
  /** Start of the next step. */
  stepStart: string
  last: string
}

class RunSpans {
  readonly #scope: ExportScope
  readonly #runs = new Map<string, OpenRun>()
  /** By stream and call. */
  readonly #calls = new Map<string, OpenCall>()

  constructor(scope: ExportScope) {
    this.#scope = scope
  }

  take(event: LedgerEvent): string {
    const { stream, type, time } = event.header
    const run = this.#runs.get(stream)
    if (run !== undefined) run.last = time
    return [...this.#spans(event, type), ...this.#surplus()].map((span) => spanLine(span, this.#scope)).join('')
  }

  /** A tenant may have any number of open runs; each event opens at most one. */
  *#surplus(): Generator<Span> {
    for (const [key, call] of this.#calls) {
      if (this.#calls.size <= OPEN_MAX) break
      this.#calls.delete(key)
      yield callSpan(call, { end: call.last, outcome: 'open' })
    }
    for (const [stream, run] of this.#runs) {
      if (this.#runs.size <= OPEN_MAX) break
      this.#runs.delete(stream)
      yield rootSpan(stream, run, { end: run.last, type: 'open' })
    }
  }

  /** Spans that are still open at the end of the export, which have no end of their own. */
  rest(): string {
    const calls = [...this.#calls.values()].map((call) => callSpan(call, { end: call.last, outcome: 'open' }))
    const runs = [...this.#runs].map(([stream, run]) => rootSpan(stream, run, { end: run.last, type: 'open' }))
    this.#calls.clear()
    this.#runs.clear()
    return [...calls, ...runs].map((span) => spanLine(span, this.#scope)).join('')
  }

  #spans(event: LedgerEvent, type: string): readonly Span[] {
    const role = Object.hasOwn(ROLES, type) ? ROLES[type as EventType] : 'none'
    switch (role) {
      case 'run-start':
        this.#startRun(event)
        return []
      case 'step':
        return [this.#step(event)]
      case 'claim':
        return this.#claim(event)
      case 'usage':
        return this.#usage(event)
      case 'doubt':
        this.#doubt(event)
        return []
      case 'outcome':
        return this.#settle(event)
      case 'moment':
        return [pointSpan(event)]
      case 'run-end':
        return [this.#endRun(event)]
      case 'none':
        return []
    }
  }

  #startRun({ header, data }: LedgerEvent): void {
    const { stream, time } = header
    const name = textOf(data, 'name') ?? runOf(stream) ?? ''
    this.#runs.set(stream, { name, start: time, link: linkOf(header.traceparent), stepStart: time, last: time })
  }

  #step(event: LedgerEvent): Span {
    const { stream, time } = event.header
    const run = this.#runs.get(stream)
    const span = stepSpan(event, run?.stepStart ?? time)
    if (run !== undefined) run.stepStart = time
    return span
  }

  #claim(event: LedgerEvent): readonly Span[] {
    const key = callKey(event)
    const before = this.#calls.get(key)
    const parentCall = textOf(event.data, 'parentCall')
    const parent = parentCall === undefined ? undefined : this.#calls.get(`${event.header.stream}\n${parentCall}`)
    this.#calls.set(key, openCall(event, parent?.key ?? ROOT))
    return before === undefined ? [] : [callSpan(before, { end: before.last, outcome: 'unknown' })]
  }

  #usage(event: LedgerEvent): readonly Span[] {
    const call = this.#calls.get(callKey(event))
    if (call === undefined) return [usageSpan(event, ROOT)]
    call.usage = { ...call.usage, ...usageAttributes(event.data.usage as JsonObject) }
    return []
  }

  #doubt(event: LedgerEvent): void {
    const call = this.#calls.get(callKey(event))
    if (call !== undefined) call.last = event.header.time
  }

  #settle(event: LedgerEvent): readonly Span[] {
    const key = callKey(event)
    const call = this.#calls.get(key)
    this.#calls.delete(key)
    return call === undefined ? [pointSpan(event)] : [callSpan(call, outcomeOf(event))]
  }

  /** A second end, for example a rollback after a failure, becomes a separate span. */
  #endRun(event: LedgerEvent): Span {
    const { stream, time, type } = event.header
    const run = this.#runs.get(stream)
    this.#runs.delete(stream)
    return run === undefined ? pointSpan(event) : rootSpan(stream, run, { end: time, type, data: event.data })
  }
}

function callKey({ header, data }: LedgerEvent): string {
  return `${header.stream}\n${textOf(data, 'callId') ?? ''}`
}

function outcomeOf({ header, data }: LedgerEvent): { end: string; outcome: string; error?: string } {
  const error = data.error as JsonObject | undefined
  if (header.type === 'ToolCallResolved') return { end: header.time, outcome: textOf(data, 'outcome') ?? 'executed' }
  if (error === undefined) return { end: header.time, outcome: 'executed' }
  return { end: header.time, outcome: 'failed', error: textOf(error, 'code') ?? 'tool_error' }
}

function rootSpan(stream: string, run: OpenRun, at: { end: string; type: string; data?: JsonObject }): Span {
  const failed = at.type === 'RunFailed'
  const error = at.data?.error as JsonObject | undefined
  return {
    stream,
    key: ROOT,
    name: `invoke_workflow ${run.name}`,
    kind: SPAN_KIND.internal,
    start: run.start,
    end: at.end,
    attributes: {
      'gen_ai.operation.name': 'invoke_workflow',
      'gen_ai.workflow.name': run.name,
      'gen_ai.conversation.id': runOf(stream),
      'openinference.span.kind': 'CHAIN',
      'session.id': runOf(stream),
      'countersign.run.end': at.type,
      'error.type': failed ? (textOf(error ?? {}, 'code') ?? 'run_failed') : undefined,
    },
    status: failed ? SPAN_STATUS.error : at.type === 'RunCompleted' ? SPAN_STATUS.ok : SPAN_STATUS.unset,
    link: run.link,
  }
}

/** An agent's step lasts from the previous handoff to its own. */
function stepSpan({ header, data }: LedgerEvent, start: string): Span {
  const agent = textOf(data, 'agent') ?? ''
  const accepted = header.type === 'EnvelopeAccepted'
  const { step, tokens, confidence } = data
  return {
    stream: header.stream,
    key: `step:${header.revision}`,
    parentKey: ROOT,
    name: `invoke_agent ${agent}`,
    kind: SPAN_KIND.internal,
    start,
    end: header.time,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': agent,
      'gen_ai.conversation.id': runOf(header.stream),
      'openinference.span.kind': 'AGENT',
      'countersign.event.id': header.id,
      'countersign.step': typeof step === 'number' ? step : undefined,
      'countersign.tokens': typeof tokens === 'number' ? tokens : undefined,
      'countersign.confidence': typeof confidence === 'number' ? String(confidence) : undefined,
      'error.type': accepted ? undefined : 'contradiction',
    },
    status: accepted ? SPAN_STATUS.ok : SPAN_STATUS.error,
    link: linkOf(header.traceparent),
  }
}

/** An event at one moment: a refusal, a rewind, an end that came late. */
function pointSpan({ header, data }: LedgerEvent): Span {
  return {
    stream: header.stream,
    key: `event:${header.revision}`,
    parentKey: ROOT,
    name: header.type,
    kind: SPAN_KIND.internal,
    start: header.time,
    end: header.time,
    attributes: {
      'countersign.event.id': header.id,
      'countersign.event.type': header.type,
      'gen_ai.tool.call.id': textOf(data, 'callId'),
      'gen_ai.agent.name': textOf(data, 'agent'),
      'error.type': textOf(data, 'code'),
    },
    status: SPAN_STATUS.unset,
  }
}
