/**
 * @module Folds the stream of a run into its state, and builds its snapshot documents, which the ledger writes and a replay rebuilds and
 * compares (STR-10).
 */
import type { EventBody } from '../schemas/events.ts'
import type { Header } from '../schemas/header.ts'
import type { HandoffSnapshot, Snapshot } from '../schemas/snapshot.ts'
import { HANDOFF_SNAPSHOT_VERSION, SNAPSHOT_OPEN_MAX, SNAPSHOT_VERSION } from '../schemas/value-forms.ts'
import { type FoldTable, foldBy, ignore } from './fold-table.ts'
import { applyMode } from './merge.ts'
import type { Projection, RecordedEvent } from './projection.ts'
import { countRefusal, refusalKey } from './refusals.ts'
import { APPROVAL_FOLDS } from './run-approvals.ts'
import { envelopeCharge, foldBudget } from './run-budget.ts'
import { CALL_FOLDS, endLeases } from './run-calls.ts'
import { stuckIn } from './run-due.ts'
import { FORK_FOLDS } from './run-forks.ts'
import {
  type DeclaredMove,
  EMPTY_CONTEXT_DIGEST,
  foldSigned,
  RUN_PROJECTION_VERSION,
  type RunState,
  safeKey,
  zeroSpend,
} from './run-state.ts'
import { foldReview, foldSuspects, rewindSuspects } from './run-suspects.ts'
import { WAIT_FOLDS } from './run-waits.ts'

export const runProjection: Projection<RunState | undefined> = {
  name: 'run',
  version: RUN_PROJECTION_VERSION,
  initial: () => undefined,
  evolve: evolveRun,
}

/** Folds one event. Throws `TypeError` if the stream does not begin with RunStarted, because it is not a run then. */
export function evolveRun(before: RunState | undefined, event: RecordedEvent): RunState {
  if (event.type === 'RunStarted') return startedRun(event.data, event.header)
  if (before === undefined) throw new TypeError(`a run begins with RunStarted, not with ${event.type}`)

  const state = before
  const established = state.lineage.at(-1)
  if (established !== undefined && established.revision === state.revision && event.header.prev !== undefined) {
    established.digest = event.header.prev
  }
  state.revision = event.header.revision
  state.time = event.header.time
  if (event.header.request !== undefined) state.requests[safeKey(event.header.request.id)] = event.header.revision
  foldBy(RUN_FOLDS, state, event)
  foldBudget(state, event)
  return state
}

const RUN_FOLDS = {
  ...ignore('BudgetReserved', 'UsageRecorded', 'BudgetReleased', 'ReservationExpired', 'BudgetExceeded'),
  ...ignore('ToolDefinitionsSeen', 'CaptureGap', 'RunCarried'),
  ...CALL_FOLDS,
  ...APPROVAL_FOLDS,
  ...WAIT_FOLDS,
  ...FORK_FOLDS,
  /** Handled before the table: creates the state. */
  RunStarted: null,
  RedactionChanged: (state, { rules }) => {
    state.policy = { ...state.policy, redaction: rules }
  },
  RunResumed: (state, { fence, takesOver, version }) => {
    if (takesOver === true) endLeases(state)
    state.fence = fence
    if (version !== undefined) state.version ??= version
  },
  RunLeft: (state, data) => {
    const stuck = stuckIn(data)
    delete state.stuck
    delete state.stuckFence
    if (stuck !== undefined) Object.assign(state, { stuck, stuckFence: data.fence })
  },
  ManifestRegistered: foldManifest,
  EnvelopeAccepted: foldAccepted,
  EnvelopeRejected: foldRejected,
  JudgementRecorded: (state, { step, verdict, reason, findings }) => {
    state.judgement = { step, verdict, findings, ...(reason === undefined ? {} : { reason }) }
  },
  SuspectReviewed: foldReview,
  SnapshotTaken: foldSnapshot,
  RunRewound: foldRewound,
  RequestRefused: foldRefusal,
  RunCompleted: (state, _, { revision }) => end(state, 'completed', revision),
  RunFailed: (state, _, { revision }) => end(state, 'failed', revision),
  ChildRunStarted: (state, { callId, run }) => {
    state.children[safeKey(callId)] = run
  },
  RunKeyDisclosed: (state) => {
    state.disclosed = true
  },
} satisfies FoldTable<RunState>

function startedRun(data: EventBody<'RunStarted'>, header: Header): RunState {
  const runId = header.stream.slice(header.stream.indexOf('.') + 1)
  const { branchOf, restored: context = {} } = data
  const contextDigest = branchOf?.contextDigest ?? EMPTY_CONTEXT_DIGEST
  // A branch continues the step numbers of its original run.
  const step = branchOf?.atStep ?? 0
  return {
    runId,
    tenant: header.tenant,
    revision: header.revision,
    time: header.time,
    name: data.name,
    actor: header.actor,
    ...(header.principal === undefined ? {} : { principal: header.principal }),
    startedAt: header.time,
    tags: data.tags,
    requestDigest: data.requestDigest,
    policy: data.policy,
    limits: data.budget ?? {},
    ...(data.budget?.cost === undefined ? {} : { currency: data.budget.cost.currency }),
    status: 'open',
    fence: 1,
    context,
    contextDigest,
    step,
    lineage: [{ step, revision: header.revision, eventId: header.id, agent: '', context: contextDigest }],
    snapshot: { step, revision: header.revision, contextDigest, context },
    declared: [],
    suspects: [],
    rejections: 0,
    rewinds: 0,
    agents: {},
    manifests: {},
    calls: {},
    callKeys: {},
    forwardOrder: [],
    openCalls: {},
    approvals: {},
    approvalKeys: {},
    pendingApprovals: {},
    waits: {},
    waitKeys: {},
    openWaits: {},
    heldSignals: {},
    compensations: [],
    forks: {},
    forkScopes: {},
    unrecorded: {},
    ...(branchOf === undefined ? {} : { branchOf }),
    ...(data.childOf === undefined ? {} : { childOf: data.childOf }),
    children: {},
    branches: {},
    reservations: {},
    openReservations: {},
    spend: zeroSpend(),
    spendByAgent: {},
    modelCallers: {},
    requests: header.request === undefined ? {} : { [safeKey(header.request.id)]: header.revision },
    refusals: {},
    refusalTimes: [],
    signatures: {},
  }
}

function foldManifest(state: RunState, data: EventBody<'ManifestRegistered'>, header: Header): void {
  state.agents[safeKey(data.agent)] = true
  state.manifests[safeKey(data.agent)] = {
    agent: data.agent,
    hash: data.hash,
    revision: header.revision,
    setBy: { actor: header.actor, ...(header.principal !== undefined && { principal: header.principal }) },
    manifest: data.manifest,
  }
}

function foldAccepted(state: RunState, data: EventBody<'EnvelopeAccepted'>, header: Header): void {
  const { agent, mode, payload, add } = data
  if (raisesOrCloses(data)) foldSuspects(state, data, header)
  state.context = applyMode({ context: state.context, payload, mode, policy: state.policy, add })
  state.contextDigest = data.context
  state.step = data.step
  const { revision, id: eventId } = header
  state.lineage.push({ step: data.step, revision, eventId, agent, context: data.context })
  state.agents[safeKey(agent)] = true
  foldDeclared(state, data)
  foldSigned(state, data)
  if (data.v > 1) foldSnapshot(state)
}

function raisesOrCloses({ findings, suspectsTotal, suspectsClosed }: EventBody<'EnvelopeAccepted'>): boolean {
  const raises = suspectsTotal !== undefined || findings?.some(({ suspect }) => suspect === true) === true
  return raises || suspectsClosed !== undefined
}

/** The declarations of a handoff that were accepted; their kinds have been validated. */
export function heldMoves({
  moves = [],
  movesRefused = [],
}: Pick<EventBody<'EnvelopeAccepted'>, 'moves' | 'movesRefused'>): readonly HeldMove[] {
  return moves.filter((_, i) => !movesRefused.includes(i)) as HeldMove[]
}

type HeldMove = Omit<DeclaredMove, 'agent' | 'step'>

function foldDeclared(state: RunState, { agent, step, moves, movesRefused }: EventBody<'EnvelopeAccepted'>): void {
  const inForce = heldMoves({ moves, movesRefused }).map((move) => ({ ...move, agent, step }))
  if (inForce.length > 0) state.declared = [...state.declared, ...inForce]
}

function foldRejected(state: RunState, data: EventBody<'EnvelopeRejected'>): void {
  state.rejections += 1
  state.agents[safeKey(data.agent)] = true
  foldSigned(state, data)
}

function end(state: RunState, status: 'completed' | 'failed', revision: number): void {
  state.status = status
  state.endRevision = revision
}

/** Sets the snapshot to the last accepted envelope: called for an envelope with a snapshot, or for the SnapshotTaken after one. */
function foldSnapshot(state: RunState): void {
  const established = state.lineage.at(-1)
  if (established === undefined) return
  state.snapshot = {
    step: established.step,
    revision: established.revision,
    contextDigest: state.contextDigest,
    context: state.context,
  }
}

function foldRewound(state: RunState, data: EventBody<'RunRewound'>): void {
  while (state.lineage.length > 1 && (state.lineage.at(-1)?.step ?? 0) > data.toStep) state.lineage.pop()
  if (state.declared.some(({ step }) => step > data.toStep)) {
    state.declared = state.declared.filter(({ step }) => step <= data.toStep)
  }
  if (state.suspects.length > 0) rewindSuspects(state, data.toStep)
  // A rewind after a refusal keeps the established context; those recorded by 0.1.0 restored its last snapshot.
  const current = data.context === state.contextDigest ? state.context : state.snapshot.context
  state.context = data.restored ?? current
  state.contextDigest = data.context
  state.rewinds += 1
  // The restored step was built upon, so it has been judged already.
  if (state.judgement !== undefined && data.toStep < state.judgement.step) {
    state.judgement = { step: data.toStep, verdict: 'accept', findings: [] }
  }
  if (data.restored === undefined) return

  state.snapshot = {
    step: data.toStep,
    revision: data.snapshot,
    contextDigest: data.context,
    context: data.restored,
  }
}

function foldRefusal(state: RunState, data: EventBody<'RequestRefused'>, header: Header): void {
  countRefusal(state, refusalKey(header.actor, data.code, data.fingerprint), header)
  if (data.lateOutcome === undefined) return
  const call = state.calls[safeKey(data.lateOutcome.callId)]
  if (call !== undefined) call.possiblyTwice = true
}

/** The document of a SnapshotTaken, which 0.1.0 wrote after a handoff. */
export function snapshotOf(state: RunState): Snapshot {
  return {
    v: SNAPSHOT_VERSION,
    step: state.lineage.at(-1)?.step ?? 0,
    context: state.contextDigest,
    budget: { ...state.spend },
    openCalls: Object.keys(state.openCalls).flatMap((key) => openCall(state, key)),
    openReservations: Object.keys(state.openReservations).flatMap((key) => openReservation(state, key)),
  }
}

/** The snapshot in a handoff: the state of the run after it. `before` is the state that the handoff will be folded into. */
export function handoffSnapshot(
  before: RunState,
  handoff: Pick<EventBody<'EnvelopeAccepted'>, 'step' | 'context' | 'agent' | 'tokens'>,
): HandoffSnapshot {
  const { tokens } = before.spend
  return {
    v: HANDOFF_SNAPSHOT_VERSION,
    step: handoff.step,
    context: handoff.context,
    budget: { ...before.spend, tokens: tokens + envelopeCharge(before, handoff) },
    ...openWork(before),
  }
}

/** The snapshot of a handoff, from the state after it instead of the state before. */
export function snapshotAfterHandoff(state: RunState): HandoffSnapshot {
  return {
    v: HANDOFF_SNAPSHOT_VERSION,
    step: state.lineage.at(-1)?.step ?? 0,
    context: state.contextDigest,
    budget: { ...state.spend },
    ...openWork(state),
  }
}

function openWork(
  state: RunState,
): Pick<HandoffSnapshot, 'openCalls' | 'openCallsTotal' | 'openReservations' | 'openReservationsTotal'> {
  const [calls, reservations] = [Object.keys(state.openCalls), Object.keys(state.openReservations)]
  // The most frequent case.
  if (calls.length === 0 && reservations.length === 0) return { openCalls: [], openReservations: [] }
  return {
    openCalls: calls.slice(0, SNAPSHOT_OPEN_MAX).flatMap((key) => openCall(state, key)),
    ...(calls.length > SNAPSHOT_OPEN_MAX && { openCallsTotal: calls.length }),
    openReservations: reservations.slice(0, SNAPSHOT_OPEN_MAX).flatMap((key) => openReservation(state, key)),
    ...(reservations.length > SNAPSHOT_OPEN_MAX && { openReservationsTotal: reservations.length }),
  }
}

function openCall(state: RunState, key: string): Snapshot['openCalls'] {
  const call = state.calls[key]
  if (call === undefined || (call.status !== 'claimed' && call.status !== 'in-doubt')) return []
  return [{ callId: call.callId, tool: call.tool, status: call.status, fence: call.fence }]
}

function openReservation(state: RunState, key: string): Snapshot['openReservations'] {
  const reservation = state.reservations[key]
  if (reservation === undefined) return []
  const { reservationId, agent, tokens, cost } = reservation
  return [{ reservationId, agent, tokens, cost }]
}
