/**
 * @module A projection as the event server's own engine folds it (STR-6): the same `evolve`, in a wrapper that never throws and
 * whose state stays within what the engine can hold. One exception or one state too large would stop the projection for every run.
 */
import type { EventBody, RunEventType } from '../schemas/events.ts'
import type { Header } from '../schemas/header.ts'
import { canFold } from './body-versions.ts'
import { eachOf } from './fold-table.ts'
import type { RecordedEvent } from './projection.ts'

/** An event as the engine hands it over, as far as it is used. `data` and `metadata` are parsed when they are requested, and may throw. */
export interface ServerEvent {
  readonly streamId: string
  readonly sequenceNumber: number
  readonly data?: unknown
  readonly metadata?: unknown
}

/** Why a stream is not folded from here on. */
export type StopReason =
  /** It does not begin with RunStarted: another program's stream. */
  | 'no-run'
  /** A revision is missing. */
  | 'gap'
  /** Not an event of a ledger, or one in another's place. */
  | 'unreadable'
  /** Written by a later version of the ledger. */
  | 'unknown-version'
  /** The engine keeps a state as one text, and reads and writes all of it at each event. */
  | 'too-large'
  /** A name in the state has a control character in it: the engine would not read its own state back. */
  | 'control-character'

/** What the server keeps of a run, as JSON. */
export interface ServerState<State> {
  readonly v: 1
  /** Of the last event seen; -1 before the first. */
  revision: number
  /** Bytes of what was folded, contents left out: the state grows with them. */
  foldedBytes: number
  /** Null before the first event, and where folding has stopped. */
  state: State | null
  stopped: StopReason | null
}

export type Evolve<State> = (state: State | undefined, event: RecordedEvent) => State | undefined

/** A state beyond 16 MiB could not be written as an event of the server. A name can stand in the state three times. */
const FOLDED_MAX_BYTES = 5 * 1024 * 1024
/** The id of a request, which is in the header. */
const REQUEST_BYTES = 64

export function initialOnServer(): ServerState<never> {
  return { v: 1, revision: -1, foldedBytes: 0, state: null, stopped: null }
}

/** Folds one event; total. The state passed in is reused, and is the one returned. */
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

/** About what the event adds to a state: a snapshot nothing, whoever acted only to what was refused. */
function grownBytes({ type, actor, request }: Header, lean: string): number {
  if (type === 'SnapshotTaken') return 0
  const text = lean + (REFUSALS.includes(type) ? actor : '')
  // Three bytes at most for a unit of UTF-16.
  return text.replace(NON_ASCII, '...').length + (request === undefined ? 0 : REQUEST_BYTES)
}

/** Of the text of a body: what it says may become a name in the state. A tab is let through. */
const ESCAPED_CONTROL = /\\(?:u00[01]|[bfnr])/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000a-\u001f]/

function hasControlName(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([name, member]) => CONTROL.test(name) || hasControlName(member))
}

const EMPTY = {}
/** Kept as they are by the fold, which has their digests from the event. */
const EMPTIED = ['payload', 'restored', 'manifest']
/** What agents and tools wrote, and lists as long as a run: the fold reads them not at all. */
const LEFT_OUT = {
  ...eachOf([], 'ApprovalDenied', 'ApprovalExpired'),
  ...eachOf(
    [],
    'JudgementRecorded',
    'RunResumed',
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
  // Suspects are places of the context: a state without one names none.
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
 * The body without contents. They can be half a mebibyte, and nested as deep as the engine's own serialiser goes; merging them in an
 * interpreter could take longer than it gives one event.
 */
export function withoutContents(type: string, data: object): object {
  const lean: { [member: string]: unknown } = { ...data }
  for (const member of EMPTIED) if (lean[member] !== undefined) lean[member] = EMPTY
  const leftOut: readonly string[] = Object.hasOwn(LEFT_OUT, type) ? LEFT_OUT[type as RunEventType] : []
  for (const member of leftOut) delete lean[member]
  return lean
}
