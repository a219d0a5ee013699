/** @module Answers about forks: pure functions of their events and the run right after them. */

import { type ForkState, type RunState, safeKey } from '../../../projections/run-state.ts'
import type { EventBody } from '../../../schemas/events.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { type Refusal, refusal } from '../../domain/refusal.ts'
import { inCanonicalOrder } from '../../signing/canonical-json.ts'
import type { AnsweredEvent } from './response-parts.ts'

type Joined = Extract<AnsweredEvent, { type: 'ForkJoined' }>
type Reported = Extract<AnsweredEvent, { type: 'BranchOffered' | 'BranchReceived' }>

/** The current state of a fork, with the context that its branches see. */
export function forkBody(fork: ForkState, frozen: JsonObject): JsonObject {
  return { ...forkSummary(fork), frozen: inCanonicalOrder(frozen) }
}

/** A fork without the outputs of its branches. */
export function forkSummary(fork: ForkState): JsonObject {
  const { forkId, agent, step, context, parent, join, onDiscard, outcome, revision, joinRevision, offers } = fork
  return {
    forkId,
    status: outcome ?? 'open',
    agent,
    join,
    onDiscard,
    step,
    contextDigest: context,
    parent,
    startedRevision: revision,
    ...(joinRevision === undefined ? {} : { joinRevision }),
    branches: inCanonicalOrder(fork.branches),
    offers: [...offers],
  }
}

export function startedForkBody(main: Extract<AnsweredEvent, { type: 'ForkStarted' }>, state: RunState): JsonObject {
  const fork = state.forks[safeKey(main.data.forkId)]
  return fork === undefined ? {} : forkBody(fork, state.context)
}

/** The judgement of a branch's report. */
export function branchBody({ type, data }: Reported): JsonObject {
  const { forkId, branch, confidence, findings = [] } = data
  const response = {
    forkId,
    branch,
    ...(confidence === undefined ? {} : { confidence }),
    findings: inCanonicalOrder(findings),
  }
  if (type === 'BranchOffered') return { ...response, status: 'offered', output: data.output }
  const { status, error } = data
  return { ...response, status, ...(error === undefined ? {} : { error: inCanonicalOrder(error) }) }
}

/** A fork that was joined: the merged branches, the receipts, and the resulting context. */
export function joinedBody(
  { data }: Joined,
  accepted: Extract<AnsweredEvent, { type: 'EnvelopeAccepted' }>,
  context: JsonObject,
): JsonObject {
  return {
    ...verdictBody(data),
    step: accepted.data.step,
    agent: accepted.data.agent,
    contextDigest: accepted.data.context,
    context: inCanonicalOrder(context),
    parent: accepted.digest,
    ...(accepted.data.confidence === undefined ? {} : { confidence: accepted.data.confidence }),
    findings: inCanonicalOrder(accepted.data.findings ?? []),
  }
}

/** A fork that failed to join: the context is unchanged. */
export function joinRefusal({ data, header }: Joined, runId: string): Refusal {
  const { outcome, conflicts, conflictsTotal, findings, findingsTotal } = data
  const evidence = {
    runId,
    revision: header.revision,
    ...verdictBody(data),
    ...(conflicts === undefined ? {} : { conflicts: inCanonicalOrder(conflicts), conflictsTotal: conflictsTotal ?? 0 }),
    ...(findings === undefined ? {} : { findings: inCanonicalOrder(findings), findingsTotal: findingsTotal ?? 0 }),
  }
  if (outcome === 'conflict') {
    const [first] = conflicts ?? []
    const where = first === undefined ? '' : ` at ${first.path} (${first.ours.branch} and ${first.theirs.branch})`
    return refusal(
      'fork-conflict',
      `two branches made different things of one value${where}; the context is unchanged`,
      {
        evidence,
      },
    )
  }
  const reason =
    outcome === 'none'
      ? 'no branch had a valid output'
      : 'what the branches come to is not a valid context (see findings)'
  return refusal('fork-failed', `${reason}; the context is unchanged`, { evidence })
}

function verdictBody(data: EventBody<'ForkJoined'>): JsonObject {
  const { forkId, join, outcome, winners, order, receipts, receipt } = data
  return { forkId, join, outcome, winners, order, receipts: inCanonicalOrder(receipts), receipt }
}
