/** @module Renders the state of a run as JSON for queries. */
import type { RecordedEvent } from '../../../projections/projection.ts'
import { type CallState, establishedDigest, type RunState } from '../../../projections/run-state.ts'
import { openSuspectsTotal } from '../../../projections/run-suspects.ts'
import { openSuspects } from '../../../projections/suspect-state.ts'
import type { ContextAnswer, RunAnswer } from '../../../schemas/answers/runs.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { plain } from '../../../schemas/plain.ts'
import { isLeaseOver, openCalls } from '../../domain/lease.ts'
import { type Refusal, refusal } from '../../domain/refusal.ts'
import { openWaits } from '../../domain/waits.ts'
import { budgetBody, runOrigin } from '../responses/responses.ts'
import type { LeaseClock } from '../write/lease-clock.ts'

/** Maximum number of entries in an answer. */
const WAITING_SHOWN = 100

export function runNotFound(runId: string): Refusal {
  return refusal('run-not-found', `there is no run ${runId}`)
}

export function place(event: RecordedEvent): JsonObject {
  const { revision, time, id, actor } = event.header
  return { revision, time, eventId: id, actor }
}

/** Maximum number of suspects in an answer; the list of suspects has them all. */
const SUSPECTS_SHOWN = 20

export type Leases = Pick<LeaseClock, 'leftMs'>

export function overdue(state: RunState, call: CallState, leases: Leases): { readonly overdue?: true } {
  return isLeaseOver(call, state, { leaseLeftMs: leases.leftMs }) ? { overdue: true } : {}
}

/** `head`: the last event of the run. */
export function runBody(
  state: RunState,
  head: { readonly revision: number; readonly digest: string },
  leases: Leases,
): RunAnswer {
  const now = state.lineage.at(-1)
  const open = openCalls(state).map((call) => {
    const { callId, tool, phase, status, leaseUntil } = call
    return { callId, tool, ...(phase === 'model' && { phase }), status, leaseUntil, ...overdue(state, call, leases) }
  })
  return {
    runId: state.runId,
    name: state.name,
    status: state.status,
    ...(state.compensation === undefined ? {} : { compensation: state.compensation }),
    revision: head.revision,
    digest: head.digest,
    actor: state.actor,
    ...(state.principal === undefined ? {} : { principal: state.principal }),
    startedAt: state.startedAt,
    updatedAt: state.time,
    tags: state.tags,
    fence: state.fence,
    step: now?.step ?? 0,
    parent: establishedDigest(state, head.digest),
    contextDigest: state.contextDigest,
    snapshot: {
      step: state.snapshot.step,
      revision: state.snapshot.revision,
      contextDigest: state.snapshot.contextDigest,
    },
    rejections: state.rejections,
    rewinds: state.rewinds,
    agents: Object.keys(state.agents).map((name) => name.slice(1)),
    policy: plain(state.policy),
    ...(state.declared.length > 0 && { declared: state.declared.map((move) => plain(move)) }),
    ...suspectsBody(state),
    budget: budgetBody(state),
    calls: Object.keys(state.calls).length,
    openCalls: open,
    ...waitingBody(state),
    ...(state.version === undefined ? {} : { version: state.version }),
    ...(state.stuck === undefined || state.status !== 'open' ? {} : { stuck: { ...state.stuck } }),
    ...(state.openFork === undefined ? {} : { openFork: state.openFork }),
    ...runOrigin(state),
    children: childrenOf(state),
    branches: Object.values(state.branches).map((branch) => ({ ...branch })),
    openReservations: Object.keys(state.openReservations).map((name) => name.slice(1)),
  }
}

/** Child runs with the call that they carry out, in the order in which they were started. */
function childrenOf({ children, calls }: RunState): RunAnswer['children'] {
  return Object.entries(children).map(([key, run]) => {
    const call = calls[key]
    return { run, callId: key.slice(1), ...(call !== undefined && { tool: call.tool, status: call.status }) }
  })
}

/** What the run waits for, if anything: a wait occupies no process and holds no lease. */
function waitingBody(state: RunState): Pick<RunAnswer, 'waiting' | 'heldSignals'> {
  if (state.status !== 'open') return {}
  const approvals = Object.keys(state.pendingApprovals).flatMap((key) => state.approvals[key] ?? [])
  const forApproval = approvals.slice(0, WAITING_SHOWN).map(({ approvalId, tool, requestedAt, expiresAt }) => {
    return { for: 'approval' as const, approvalId, tool, since: requestedAt, until: expiresAt }
  })
  const forOther = openWaits(state)
    .slice(0, WAITING_SHOWN)
    .map(({ waitId, name, startedAt, until }) => ({
      ...(name === undefined ? { for: 'time' as const } : { for: 'signal' as const, name }),
      ...{ waitId, since: startedAt },
      ...(until !== undefined && { until }),
    }))
  const waiting = [...forApproval, ...forOther]
  const signals = Object.values(state.heldSignals).slice(0, WAITING_SHOWN)
  return {
    ...(waiting.length > 0 && { waiting }),
    ...(signals.length > 0 && {
      heldSignals: signals.map(({ signalId, name, receivedAt }) => ({ signalId, name, receivedAt })),
    }),
  }
}

export function contextBody(state: RunState, headDigest: string): ContextAnswer {
  const now = state.lineage.at(-1)
  return {
    runId: state.runId,
    step: now?.step ?? 0,
    revision: state.revision,
    agent: now?.agent ?? '',
    parent: establishedDigest(state, headDigest),
    contextDigest: state.contextDigest,
    context: state.context,
    ...contextSuspects(state),
  }
}

/** The open suspects of a run: the oldest ones, and their number. */
function suspectsBody(state: RunState): Pick<RunAnswer, 'suspects' | 'suspectsTotal'> {
  const { suspects, ...total } = contextSuspects(state)
  return { ...(suspects && { suspects: suspects.map(({ id, path, agent }) => ({ id, path, agent })) }), ...total }
}

/** A caller that may read the context may read the values too; short values are included. */
function contextSuspects(state: RunState): Pick<ContextAnswer, 'suspects' | 'suspectsTotal'> {
  const open = openSuspects(state)
  if (open.length === 0) return {}
  const suspects = open.slice(0, SUSPECTS_SHOWN).map(({ id, path, agent, before, after }) => ({
    ...{ id, path, agent },
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after }),
  }))
  return { suspects, suspectsTotal: openSuspectsTotal(state) }
}

export function unslotted<T>(slots: { readonly [name: string]: T }, body: (value: T) => JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(slots).map(([name, value]) => [name.slice(1), body(value)]))
}
