/** @module Starts a run from a step of another, linked in both streams (RUN-26). */
import type { Command } from '../../../schemas/commands.ts'
import type { StartRun } from '../../../schemas/requests.ts'
import { type Refusal, refusal } from '../../domain/refusal.ts'
import type { BranchOrigin } from '../../domain/run-life.ts'
import type { Caller, Outcome, RequestInfo } from '../ledger.ts'
import type { Queries } from '../read/queries.ts'
import type { WritePath } from './write-path.ts'
import { refused } from './write-refusals.ts'

export type BranchStart = Extract<Command, { kind: 'start' }> & {
  readonly body: { readonly branchOf: NonNullable<StartRun['branchOf']> }
}

export function isBranchStart(command: Command): command is BranchStart {
  return command.kind === 'start' && command.body.branchOf !== undefined
}

/**
 * Two appends: the branch, then the link in the run that it left. A crash between them, or a refused link, is healed by the same request
 * again: the branch is known, and the link is made once.
 */
export async function startBranch(
  { write, queries }: { readonly write: WritePath; readonly queries: Queries },
  caller: Caller,
  request: { readonly runId: string; readonly command: BranchStart; readonly info: RequestInfo },
): Promise<Outcome> {
  const { runId, command, info } = request
  const { run, atStep } = command.body.branchOf
  const closed = await queries.read(caller, run, ({ disclosed = false }) => ({ disclosed }))
  if (closed.ok && closed.value.disclosed === true) return refused(atOrigin(DISCLOSED))
  const found = await queries.context(caller, run, { step: atStep })
  if (!found.ok) return refused(atOrigin(found.refusal))
  const { revision, parent, contextDigest, context } = found.value
  const branchOf = { run, atStep, revision, digest: parent, contextDigest }
  const origin = { branchOf, restored: context } as BranchOrigin

  const started = await write.execute(caller, runId, { ...command, origin }, info)
  if (!started.ok) return started
  const traceparent = info.traceparent === undefined ? {} : { traceparent: info.traceparent }
  const link = { kind: 'branched', body: { run: runId, atStep, revision: origin.branchOf.revision } } as const
  const linked = await write.execute(caller, run, link, traceparent)
  return linked.ok ? started : linked
}

const DISCLOSED = refusal('run-ended', 'the keys of that run were disclosed: no branch of it can be noted there')

function atOrigin(refusal: Refusal): Refusal {
  const pointer = refusal.code === 'unknown-step' ? '/branchOf/atStep' : '/branchOf/run'
  return { ...refusal, pointer }
}
