/**
 * @module Starts a run that another run refers to: as a branch from one of its steps (RUN-26), or as the work of one of its calls (RUN-56). Each
 * takes two appends to two streams; repeating the request repairs a crash between them.
 */
import type { Command } from '../../../schemas/commands.ts'
import type { ResolvedPolicy } from '../../../schemas/policy.ts'
import type { StartRun } from '../../../schemas/requests.ts'
import { withinRun } from '../../access/check-access.ts'
import { depthBelow, type ParentClaim } from '../../domain/child-run.ts'
import { type Refusal, refusal } from '../../domain/refusal.ts'
import type { ApprovalRules, BranchOrigin } from '../../domain/run-life.ts'
import type { Caller, Outcome, RequestInfo } from '../ledger.ts'
import type { Queries } from '../read/queries.ts'
import type { RunWrites } from './write-path.ts'
import { refused } from './write-refusals.ts'

interface LinkDeps {
  readonly write: RunWrites
  readonly queries: Queries
}

type Start = Extract<Command, { kind: 'start' }>

/** Undefined if no other run refers to the one to start. */
export function startLinked(
  deps: LinkDeps,
  caller: Caller,
  { command, ...request }: { readonly runId: string; readonly command: Start; readonly info: RequestInfo },
): Promise<Outcome> | undefined {
  if (isBranchStart(command)) return startBranch(deps, caller, { ...request, command })
  if (isChildStart(command)) return startChild(deps, caller, { ...request, command })
  return undefined
}

type BranchStart = Start & {
  readonly body: { readonly branchOf: NonNullable<StartRun['branchOf']> }
}

function isBranchStart(command: Start): command is BranchStart {
  return command.body.branchOf !== undefined
}

/**
 * Two appends: the branch, then the link in its origin. Repeating the request repairs a crash between them or a refused link: the branch is
 * recognized, and the link is made only once.
 */
async function startBranch(
  { write, queries }: LinkDeps,
  caller: Caller,
  request: { readonly runId: string; readonly command: BranchStart; readonly info: RequestInfo },
): Promise<Outcome> {
  const { runId, command, info } = request
  const { run, atStep } = command.body.branchOf
  const left = await queries.read(caller, run, ({ disclosed, policy: { approve } }) => ({ disclosed, approve }))
  if (!left.ok) return refused(atOrigin(left.refusal))
  if (left.value.disclosed === true) return refused(atOrigin(DISCLOSED))
  const found = await queries.context(caller, run, { step: atStep })
  if (!found.ok) return refused(atOrigin(found.refusal))
  const { revision, parent, contextDigest, context } = found.value
  const branchOf = { run, atStep, revision, digest: parent, contextDigest }
  const origin: BranchOrigin = { branchOf, restored: context }

  const start = { ...command, origin, ...inherited(left.value) }
  const started = await write.execute(caller, runId, start, info)
  if (!started.ok) return started
  const link = { kind: 'branched', body: { run: runId, atStep, revision: origin.branchOf.revision } } as const
  const linked = await write.execute(caller, run, link, traceOf(info))
  return linked.ok ? started : linked
}

const DISCLOSED = refusal('run-ended', 'the keys of that run were disclosed: no branch of it can be noted there')

function atOrigin(refusal: Refusal): Refusal {
  const pointer = refusal.code === 'unknown-step' ? '/branchOf/atStep' : '/branchOf/run'
  return { ...refusal, pointer }
}

type ChildStart = Start & { readonly body: { readonly childOf: ParentClaim } }

function isChildStart(command: Start): command is ChildStart {
  return command.body.childOf !== undefined
}

/**
 * Two appends: the link in the parent, then the child. Repeating the request repairs a crash between them: the link is made only once, and the child
 * has the id that the link names.
 */
async function startChild(
  { write, queries }: LinkDeps,
  caller: Caller,
  request: { readonly runId: string; readonly command: ChildStart; readonly info: RequestInfo },
): Promise<Outcome> {
  const { runId, command, info } = request
  const { childOf } = command.body
  const outside = withinRun(caller, childOf.run)
  if (outside !== undefined) return refused(atParent(outside))
  const found = await queries.read(caller, childOf.run, (state) => {
    return { depth: depthBelow(state), approve: state.policy.approve }
  })
  if (!found.ok) return refused(atParent(found.refusal))
  const parent = { run: childOf.run, callId: childOf.callId, depth: found.value.depth }
  const start = { ...command, parent, ...inherited(found.value) }
  // A foreign run with this id is refused before the parent names it as its child.
  if (await isForeign(queries, caller, { runId, parent })) return write.execute(caller, runId, start, info)
  const link = { kind: 'child-started', body: { childOf, run: runId } } as const
  const linked = await write.execute(caller, childOf.run, link, traceOf(info))
  return linked.ok ? write.execute(caller, runId, start, info) : linked
}

/** The approval rules of the run that was read. */
function inherited({ approve }: Pick<ResolvedPolicy, 'approve'>): { readonly approve?: ApprovalRules } {
  return approve === undefined ? {} : { approve }
}

async function isForeign(
  queries: Queries,
  caller: Caller,
  { runId, parent }: { readonly runId: string; readonly parent: { readonly run: string; readonly callId: string } },
): Promise<boolean> {
  const known = await queries.read(caller, runId, ({ childOf }) => childOf)
  if (!known.ok) return false
  return known.value?.run !== parent.run || known.value.callId !== parent.callId
}

/** The link belongs to the same trace and has no idempotency key: it is made only once, even if the request is repeated. */
function traceOf({ traceparent }: RequestInfo): RequestInfo {
  return traceparent === undefined ? {} : { traceparent }
}

function atParent(refusal: Refusal): Refusal {
  return { ...refusal, pointer: '/childOf/run' }
}
