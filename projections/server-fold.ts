/**
 * @module Runs a projection in the event server's own engine (STR-6): the same `evolve` in a wrapper that never throws and keeps the state
 * within the engine's limits. A single exception or an oversized state would stop the projection for every run.
 */
import type { EventBody, RunEventType } from '../schemas/events.ts'
import type { Header } from '../schemas/header.ts'
import { canFold } from './body-versions.ts'
import { eachOf } from './fold-table.ts'
import type { RecordedEvent } from './projection.ts'

/** The members used of the engine's event. `data` and `metadata` are parsed on access and may throw. */
export interface ServerEvent {
  readonly streamId: string
  readonly sequenceNumber: number
  readonly data?: unknown
  readonly metadata?: unknown
}

/** The reason why a stream is no longer folded. */
export type StopReason =
  /** The stream does not begin with RunStarted, so another program wrote it. */
  | 'no-run'
  /** A revision is missing. */
  | 'gap'
  /** Not an event of a ledger, or an event at the wrong position. */
  | 'unreadable'
  /** Written by a later version of the ledger. */
  | 'unknown-version'
  /** The state is too large: the engine keeps it as one text, which is read and written as a whole at each event. */
  | 'too-large'
  /** A name in the state contains a control character, which the engine could not read back. */
  | 'control-character'

/** The server's stored state of a run, as JSON. */
export interface ServerState<State> {
  readonly v: 1
  /** Revision of the last event seen; -1 before the first. */
  revision: number
  /** Bytes folded so far, without contents; an estimate of the size of the state. */
  foldedBytes: number
  /** Null before the first event and after folding has stopped. */
  state: State | null
  stopped: StopReason | null
}

export type Evolve<State> = (state: State | undefined, event: RecordedEvent) => State | undefined

/** A state beyond 16 MiB could not be written as an event of the server, and a name can occur up to three times in the state. */
const FOLDED_MAX_BYTES = 5 * 1024 * 1024
/** Size of a request's id, which is in the header. */
const REQUEST_BYTES = 64

export function initialOnServer(): ServerState<never> {
  return { v: 1, revision: -1, foldedBytes: 0, state: null, stopped: null }
}

/** Folds one event; never throws. The given state is modified and returned. */
export function evolveOnServer<State>(
  evolve: Evolve<State>,
  state: ServerState<State>,
  event: ServerEvent,
): ServerState<State> {
  const { sequenceNumber } = event
  if (sequenceNumber <= state.revision) return state
  const isNext = sequenceNumber === state.revision + 1
  state.revision = sequenceNumber
  if (state.stopped !== null) return state
  state.stopped = isNext ? fold(evolve, state, event) : 'gap'
  if (state.stopped !== null) state.state = null
  return state
}

function fold<State>(evolve: Evolve<State>, state: ServerState<State>, event: ServerEvent): StopReason | null {
  try {
    const { header } = event.metadata as { readonly header: Header }
    const data = event.data as { readonly v?: unknown }
    const isOurs = header.stream === event.streamId && header.revision === event.sequenceNumber
    if (!isOurs || typeof header.type !== 'string' || typeof data !== 'object' || data === null) return 'unreadable'
    if (state.state === null && header.type !== 'RunStarted') return 'no-run'
    if (!canFold(header.type, data.v)) return 'unknown-version'

    const lean = withoutContents(header.type, data)
    const text = JSON.stringify(lean)
    state.foldedBytes += grownBytes(header, text)
    if (state.foldedBytes > FOLDED_MAX_BYTES) return 'too-large'
    state.state = evolve(state.state ?? undefined, { type: header.type, data: lean, header } as RecordedEvent) ?? null
    if (state.state === null) return 'no-run'
    return ESCAPED_CONTROL.test(text) && hasControlName(state.state) ? 'control-character' : null
  } catch {
    return 'unreadable'
  }
}

const NON_ASCII = /[\u0080-\uffff]/g
const REFUSALS: readonly string[] = ['RequestRefused', 'BudgetExceeded'] satisfies RunEventType[]

/** Approximate growth of the state by the event: a snapshot adds nothing, and the actor is stored only for refusals. */
function grownBytes({ type, actor, request }: Header, lean: string): number {
  if (type === 'SnapshotTaken') return 0
  const text = lean + (REFUSALS.includes(type) ? actor : '')
  // A UTF-16 unit takes at most three bytes of UTF-8.
  return text.replace(NON_ASCII, '...').length + (request === undefined ? 0 : REQUEST_BYTES)
}

/** Escapes in the body's JSON text whose characters may become part of a name in the state. Tabs are allowed. */
const ESCAPED_CONTROL = /\\(?:u00[01]|[bfnr])/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000a-\u001f]/

function hasControlName(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([name, member]) => CONTROL.test(name) || hasControlName(member))
}

const EMPTY = {}
/** Members replaced by an empty object; the fold stores them unchanged and takes their digests from the event. */
const EMPTIED = ['payload', 'restored', 'manifest']
/** Members that the fold never reads: content written by agents and tools, and lists as long as a run. */
const LEFT_OUT = {
  ...eachOf([], 'ApprovalDenied', 'ApprovalExpired'),
  ...eachOf(
    [],
    'JudgementRecorded',
    'RunResumed',
    'RunLeft',
    'RunCarried',
    'RunBranched',
    'ChildRunStarted',
    'RedactionChanged',
    'RunKeyDisclosed',
    'ManifestRegistered',
    'ToolCallLeaseRenewed',
  ),
  ...eachOf([], 'ToolCallInDoubt', 'ResultNotRecorded', 'CompensationInDoubt', 'BudgetReserved', 'UsageRecorded'),
  ...eachOf([], 'BudgetReleased', 'ReservationExpired', 'BudgetExceeded', 'ForkStarted'),
  ToolDefinitionsSeen: ['tools'],
  CaptureGap: [],
  RunStarted: ['input'],
  // Suspects refer to places of the context, which this state does not contain.
  EnvelopeAccepted: ['add', 'supersedes', 'findings', 'suspectsTotal', 'suspectsClosed', 'snapshot'],
  SuspectReviewed: ['reason'],
  EnvelopeRejected: ['add', 'supersedes', 'findings'],
  SnapshotTaken: ['openCalls', 'openReservations'],
  RunRewound: ['callsSince'],
  ApprovalRequested: ['args'],
  ApprovalGranted: ['comment'],
  ApprovalWithdrawn: ['comment'],
  WaitStarted: ['schema'],
  SignalReceived: ['payload'],
  SignalPassedOver: ['faults'],
  WaitEnded: [],
  ToolCallClaimed: ['args'],
  ToolCallSucceeded: ['result'],
  ToolCallFailed: ['error'],
  ToolCallResolved: ['result', 'evidence'],
  CompensationStarted: ['plan'],
  CompensationSucceeded: ['result'],
  CompensationFailed: ['error'],
  RunCompensated: ['compensated', 'standing', 'failed', 'unknown'],
  BranchOffered: ['add', 'supersedes', 'findings'],
  BranchReceived: ['add', 'findings', 'error'],
  ForkJoined: ['winners', 'order', 'receipts', 'conflicts', 'findings'],
  RequestRefused: ['evidence'],
  RunCompleted: ['output'],
  RunFailed: ['error', 'openCalls'],
} satisfies { readonly [T in RunEventType]: readonly (keyof EventBody<T>)[] }

/**
 * The body without contents, which can be half a mebibyte and nested as deep as the engine's serialiser allows; merging them in the
 * engine's interpreter could exceed its time limit per event.
 */
export function withoutContents(type: string, data: object): object {
  const lean: { [member: string]: unknown } = { ...data }
  for (const member of EMPTIED) if (lean[member] !== undefined) lean[member] = EMPTY
  const leftOut: readonly string[] = Object.hasOwn(LEFT_OUT, type) ? LEFT_OUT[type as RunEventType] : []
  for (const member of leftOut) delete lean[member]
  return lean
}
