/** @module The decisions that start, resume, branch, complete and fail a run (RUN-20 to RUN-24). */
import { type CallState, type ReservationState, type RunState, safeKey } from '../../projections/run-state.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { PolicyObject, ResolvedPolicy } from '../../schemas/policy.ts'
import type { CompleteRun, FailRun, StartRun } from '../../schemas/requests.ts'
import { resolvePolicy } from '../../schemas/resolve-policy.ts'
import { chargedAtEnd, expiredDraft, expiredReservations } from './budget.ts'
import type { ParentLink } from './child-run.ts'
import { endOfRollback } from './compensation.ts'
import { append, type Decision, type Env, mustBeOpen, mustNotCompensate, refuse } from './decision.ts'
import { isLeaseOver, leasesOver, openCalls, type PendingOutcome } from './lease.ts'
import { sentBody } from './redaction/sent.ts'
import { type Refusal, refusal } from './refusal.ts'
import { underTenantPolicy, withApprovals } from './validator/policy/with-tenant.ts'

/** The established context of a run that is branched: its position, and the context itself. */
export interface BranchOrigin {
  readonly branchOf: NonNullable<EventBody<'RunStarted'>['branchOf']>
  readonly restored: JsonObject
}

export type ApprovalRules = NonNullable<ResolvedPolicy['approve']>

export interface StartOf {
  readonly body: StartRun
  /** The established context of the branched run, if this run is a new branch of it. */
  readonly origin?: BranchOrigin
  /** The position of a child run below its parent. */
  readonly parent?: ParentLink
  /** The approval rules of the parent run or of the run branched from; a child or a branch must not evade them (RUN-132). */
  readonly approve?: ApprovalRules
  /** The policy that the operator declared for the tenant. */
  readonly tenantPolicy?: PolicyObject | undefined
}

/** Starts a run, or resumes an open run of the same id. Other content under that id is refused. */
export function decideStart(state: RunState | undefined, start: StartOf, env: Env): Decision {
  const { id: _, whenOwned = 'wait', childOf: __, worker, ...content } = start.body
  if (worker !== undefined) return decideCarry(state, { ...start.body, worker }, env)
  const sentDigest = env.digestOf(requestOf(sentBody(env.sent, 'start')?.body ?? start.body))
  const requestDigest = env.sent?.blind(sentDigest) ?? sentDigest
  if (state === undefined) return decideNew(content, { ...start, requestDigest }, env)
  if (state.requestDigest !== requestDigest && state.requestDigest !== sentDigest) {
    return refuse(
      refusal(
        'run-exists',
        `a run of this id was started with another name, input, tags, budget, policy or origin${orErased(state)}`,
        {
          pointer: '/id',
          evidence: { expected: state.requestDigest, actual: requestDigest },
        },
      ),
    )
  }
  if (state.status !== 'open' || start.body.after !== undefined) return { kind: 'as-is' }
  return resumed(state, { whenOwned }, env)
}

/** The next owner of an open run. */
function resumed(
  state: RunState,
  { whenOwned, ...how }: Pick<StartRun, 'whenOwned'> & Pick<EventBody<'RunResumed'>, 'holdMs' | 'version'>,
  env: Env,
): Decision {
  const owned = whenOwned === 'wait' ? [] : openCalls(state).filter((call) => isOwned(call, state, env))
  if (owned.length > 0 && whenOwned === 'refuse') return refuse(runOwned(owned))
  const takesOver = owned.length > 0 ? { takesOver: true as const } : {}
  return append({ type: 'RunResumed', data: { v: 1, fence: state.fence + 1, ...takesOver, ...how } })
}

/** A worker carries on a run as it is recorded; of several that have seen the same fence, one does. */
function decideCarry(
  state: RunState | undefined,
  { name, whenOwned = 'wait', worker }: StartRun & { readonly worker: NonNullable<StartRun['worker']> },
  env: Env,
): Decision {
  const { fence, perTenant: _, ...how } = worker
  if (state === undefined) return refuse(refusal('run-not-found', 'there is no run of this id to carry on'))
  if (state.name !== name) {
    const evidence = { expected: state.name, actual: name }
    return refuse(refusal('run-exists', 'the run of this id has another name', { pointer: '/name', evidence }))
  }
  if (state.status !== 'open') return { kind: 'as-is' }
  if (state.childOf !== undefined) {
    const message = 'the run is the work of a call of another run: carry that run on'
    return refuse(refusal('run-owned', message, { evidence: { childOf: { ...state.childOf } } }))
  }
  if (state.branchOf !== undefined) {
    const message = 'the run branches off another run: carry it on with the code of the branch'
    return refuse(refusal('run-owned', message, { evidence: { branchOf: state.branchOf.run } }))
  }
  if (fence !== state.fence) {
    const evidence = { expected: fence, actual: state.fence }
    return refuse(
      refusal('run-taken-over', 'another owner has resumed this run since: list what is due again', { evidence }),
    )
  }
  return resumed(state, { whenOwned, ...how }, env)
}

function orErased({ policy }: RunState): string {
  const keeps = policy.redaction?.some(({ keep }) => keep !== undefined) === true
  return keeps
    ? ', or values that it was started with are erased: then read its record, and start under another id'
    : ''
}

/** The members of a start request that must be equal if its id is requested again. */
function requestOf({ id: _, whenOwned: __, after: ___, worker: ____, childOf, ...content }: StartRun): object {
  return { ...content, ...(childOf && { childOf: { run: childOf.run, callId: childOf.callId } }) }
}

function decideNew(
  content: Omit<StartRun, 'id' | 'whenOwned' | 'childOf' | 'worker'>,
  { body, origin, parent, approve, tenantPolicy, requestDigest }: StartOf & { readonly requestDigest: string },
  env: Env,
): Decision {
  if (content.branchOf !== undefined && origin === undefined) return refuse(notFirst('/branchOf'))
  if (body.childOf !== undefined && parent === undefined) return refuse(notFirst('/childOf'))
  const { name, input, tags, budget, after } = content
  const declared =
    approve === undefined ? { ok: true as const, policy: content.policy } : withApprovals(content.policy, approve)
  if (!declared.ok) return refuse(declared.refusal)
  const under = tenantPolicy === undefined ? undefined : underTenantPolicy(declared.policy, tenantPolicy)
  if (under?.ok === false) return refuse(under.refusal)
  return append({
    type: 'RunStarted',
    data: {
      v: 1,
      name,
      ...(input === undefined ? {} : { input }),
      tags: tags ?? [],
      ...(after === undefined ? {} : { after: notBefore(env.nowMs, after) }),
      ...(budget === undefined ? {} : { budget }),
      policy: under?.policy ?? resolvePolicy(declared.policy),
      ...(tenantPolicy === undefined ? {} : { tenantPolicy: env.digestOf(tenantPolicy) }),
      requestDigest,
      ...origin,
      ...(parent === undefined ? {} : { childOf: parent }),
    },
  })
}

function notBefore(nowMs: number, after: string): string {
  return new Date(Math.max(Date.parse(after), nowMs)).toISOString()
}

function isOwned(call: CallState, state: RunState, env: Env): boolean {
  return call.status === 'claimed' && !isLeaseOver(call, state, env)
}

function runOwned(owned: readonly CallState[]): Refusal {
  const calls = owned.slice(0, OPEN_WORK_SHOWN).map(({ callId, tool, leaseUntil }) => ({ callId, tool, leaseUntil }))
  return refusal(
    'run-owned',
    'another process may still carry out calls of this run: their leases run, and nothing proves that it is gone',
    { evidence: { calls } },
  )
}

/** Records in the original run that another run was branched from it: once, and also after the end of the original run. */
export function decideBranched(state: RunState, body: Omit<EventBody<'RunBranched'>, 'v'>): Decision {
  if (state.branches[safeKey(body.run)] !== undefined) return { kind: 'as-is' }
  return append({ type: 'RunBranched', data: { v: 1, ...body } })
}

function notFirst(pointer: '/branchOf' | '/childOf'): Refusal {
  const message = 'a branch or a child is started alone, or by the first item of its run in a batch, and is not both'
  return refusal('not-attempted', message, { pointer })
}

/** A run completes only if none of its work is open. Model calls in doubt are exempt: they have no effects, and their reservations are charged. */
export function decideComplete(state: RunState, body: CompleteRun, env: Env): Decision {
  const closed = mustBeOpen(state, body.runFence) ?? mustNotCompensate(state) ?? mustBeRecorded(state)
  if (closed !== undefined) return refuse(closed)

  const over = leasesOver(state, env)
  const expired = expiredReservations(state, env)
  const met = [...over.map(({ draft }) => draft), ...expired.map(expiredDraft)]
  const silent = openCalls(state).filter((call) => call.phase === 'model' && isInDoubt(call, over))
  const open = openWork(state, { over, expired, silent })
  if (open !== undefined) return { kind: 'refuse', refusal: open, ...(met.length === 0 ? {} : { before: met }) }
  const { output, aborted } = body
  const data = { v: 1 as const, ...(output !== undefined && { output }), ...(aborted !== undefined && { aborted }) }
  return append(...met, ...chargedAtEnd(state, silent, expired), { type: 'RunCompleted', data })
}

/** The refusal to complete if the result of an executed call was lost: the call must be undone, so the run can only be rolled back (RUN-11). */
function mustBeRecorded(state: RunState): Refusal | undefined {
  const calls = Object.keys(state.unrecorded).flatMap((key) => {
    const call = state.calls[key]
    return call === undefined || call.status === 'compensated' ? [] : [{ callId: call.callId, tool: call.tool }]
  })
  if (calls.length === 0) return undefined
  return refusal('result-not-recorded', 'a call ran and its result could not be recorded: roll the run back', {
    evidence: { calls: calls.slice(0, OPEN_WORK_SHOWN) },
  })
}

/** Maximum number of items of open work listed in an answer. */
const OPEN_WORK_SHOWN = 100
/** Maximum number of these that the text of the refusal names. */
const OPEN_WORK_NAMED = 3

interface Met {
  readonly over: readonly PendingOutcome[]
  readonly expired: readonly ReservationState[]
  /** Model calls in doubt, whose outcome will not be reported. */
  readonly silent: readonly CallState[]
}

function isInDoubt(call: CallState, over: readonly PendingOutcome[]): boolean {
  return call.status === 'in-doubt' || over.some((each) => each.call === call)
}

function openWork(state: RunState, met: Met): Refusal | undefined {
  const doubtful = new Set(met.over.map(({ call }) => call.callId))
  const charged = new Set([
    ...met.expired.map((each) => each.reservationId),
    ...met.silent.map(({ reservationId }) => reservationId ?? ''),
  ])
  const calls = openCalls(state).filter((call) => !met.silent.includes(call))
  const reservations = Object.keys(state.openReservations)
    .map((key) => key.slice(1))
    .filter((id) => !charged.has(id))
  const forks = state.openFork === undefined ? [] : [state.openFork]
  if (calls.length + reservations.length + forks.length === 0) return undefined
  const shown = calls.slice(0, OPEN_WORK_SHOWN).map(({ callId, tool, status }) => {
    return { callId, tool, status: doubtful.has(callId) ? 'in-doubt' : status }
  })
  const open = [
    ...named(
      'settle or resolve',
      'call',
      calls.length,
      shown.map(({ callId, tool, status }) => `${tool} ${callId} (${status})`),
    ),
    ...named('settle or release', 'reservation', reservations.length, reservations),
    ...named('join', 'fork', forks.length, forks),
  ]
  return refusal('open-work', `not everything in the run has ended: ${open.join('; ')}`, {
    evidence: { calls: shown, reservations: reservations.slice(0, OPEN_WORK_SHOWN), forks },
  })
}

/** What is to be done with open work of one kind, and the first of it by name. */
function named(todo: string, kind: string, count: number, names: readonly string[]): readonly string[] {
  if (count === 0) return []
  const shown = names.slice(0, OPEN_WORK_NAMED)
  const more = count > shown.length ? ` and ${count - shown.length} more` : ''
  return [`${todo} the ${kind}${count === 1 ? '' : 's'} ${shown.join(', ')}${more}`]
}

export function decideFail(state: RunState, body: FailRun, env: Env): Decision {
  const closed = mustBeOpen(state, body.runFence)
  if (closed !== undefined) return refuse(closed)
  const over = leasesOver(state, env)
  const open = openCalls(state).map((call) => call.callId)
  return append(
    ...over.map(({ draft }) => draft),
    ...expiredReservations(state, env).map(expiredDraft),
    { type: 'RunFailed', data: { v: 1, error: body.error, openCalls: open } },
    ...endOfRollback(state, over),
  )
}
