/** @module The decision that joins a fork: the merged branches, a receipt for each branch, and the resulting context (RUN-38 to RUN-42). */

import { applyMode } from '../../projections/merge.ts'
import type { RecordedEvent } from '../../projections/projection.ts'
import { heldMoves } from '../../projections/run.ts'
import { type BranchState, type ForkState, type RunState, safeKey } from '../../projections/run-state.ts'
import { type Conflict, unionOf } from '../../projections/three-way.ts'
import type { EventBody } from '../../schemas/events.ts'
import { FINDINGS_MAX, type Finding } from '../../schemas/finding.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { formatPointer } from '../../schemas/json-pointer.ts'
import type { JoinFork } from '../../schemas/requests.ts'
import { append, type Decision, type Draft, mustBeOpen, mustNotCompensate, refuse } from './decision.ts'
import { noSuchFork, receivedDraft } from './fork.ts'
import { CONTEXT_MAX_BYTES, type HandoffEnv, ruleSet } from './handoff.ts'
import { heedsJudge, withJudgement } from './judgement.ts'
import { type Refusal, refusal } from './refusal.ts'
import { explainedSince } from './validator/explained-since.ts'
import type { Judgement as Judged } from './validator/judge-at-once.ts'
import { judge } from './validator/judge-handoff.ts'
import { citedValue } from './validator/report.ts'
import type { Yielding } from './yielding.ts'

type Offer = EventBody<'BranchOffered'>

export interface JoinInput {
  readonly forkId: string
  readonly body: JoinFork
  /** Returns the event at a revision, if it has been read. */
  readonly eventAt: (revision: number) => RecordedEvent | undefined
}

/** The result of the offers: the verdict, and the handoff that follows from it. */
interface Verdict {
  readonly outcome: EventBody<'ForkJoined'>['outcome']
  readonly winners: readonly string[]
  readonly more?: Pick<EventBody<'ForkJoined'>, 'conflicts' | 'conflictsTotal' | 'rules' | 'findings' | 'findingsTotal'>
  readonly envelope?: Omit<EventBody<'EnvelopeAccepted'>, 'v' | 'step' | 'parent'>
}

/**
 * Joins a fork whose branches have all reported. `first_wins` joins as soon as one branch has a valid output, and the others are aborted.
 * A repeat is answered by the recorded verdict.
 */
export function* decideJoin(
  state: RunState,
  { forkId, body, eventAt }: JoinInput,
  env: HandoffEnv,
): Yielding<Decision> {
  const fork = state.forks[safeKey(forkId)]
  if (fork === undefined) return refuse(noSuchFork(forkId))
  if (fork.outcome !== undefined) return { kind: 'as-is' }
  const order = ranked(state, fork)
  const closed = mustBeOpen(state, body.runFence) ?? mustNotCompensate(state) ?? stillRunning(fork, order)
  if (closed !== undefined) return refuse(closed)

  const chosen = fork.join === 'union' ? order : order.slice(0, 1)
  const offers = chosen.map(({ revision }) => (revision === undefined ? undefined : eventAt(revision)))
  const read = offers.flatMap((event) => (event?.type === 'BranchOffered' ? [event.data] : []))
  if (read.length < chosen.length) {
    return { kind: 'needs-events', revisions: chosen.flatMap(({ revision }) => revision ?? []) }
  }
  const verdict = yield* verdictOn(state, { fork, offers: read }, env)
  const explained = yield* withSuspectsClosed(state, verdict, env)
  return joined(state, { fork, verdict: explained, order: order.map(({ name }) => name) }, env)
}

/** Closes the suspects of handoffs before the fork that a branch explains by a supersession or a declaration. */
function* withSuspectsClosed(state: RunState, verdict: Verdict, { evidence }: HandoffEnv): Yielding<Verdict> {
  const { envelope } = verdict
  if (envelope === undefined || state.suspects.length === 0) return verdict
  const { findings = [], movesRefused } = envelope
  const { policy } = state
  const suspectsClosed = yield* explainedSince(state, { envelope, findings, movesRefused, policy, evidence })
  return suspectsClosed.length === 0 ? verdict : { ...verdict, envelope: { ...envelope, suspectsClosed } }
}

function stillRunning({ forkId, join, branches }: ForkState, order: readonly BranchState[]): Refusal | undefined {
  const running = branches.filter(({ status }) => status === 'running').map(({ name }) => name)
  if (running.length === 0 || (join === 'first_wins' && order.length > 0)) return undefined
  return refusal('open-work', 'branches have not reported: report each, as aborted where it was given up', {
    evidence: { forkId, branches: running },
  })
}

/** Valid branches, best first: in declared order for `union`, in order of arrival for `first_wins`, by score or confidence for a vote. */
function ranked(state: RunState, { join, branches, offers }: ForkState): BranchState[] {
  const valid = branches.filter(
    // A branch that is being rolled back has no output to join.
    ({ status, scope }) => status === 'offered' && mustNotCompensate(state, scope) === undefined,
  )
  if (join === 'union') return valid
  if (join === 'first_wins') return valid.sort((a, b) => offers.indexOf(a.name) - offers.indexOf(b.name))
  const scored = valid.some(({ score }) => score !== undefined)
  const votes = ({ score, confidence = 0 }: BranchState): number =>
    scored ? (score ?? Number.NEGATIVE_INFINITY) : confidence
  // A stable sort keeps ties in the declared order. The votes are compared rather than subtracted, since the difference of two infinities is NaN.
  return valid.sort((a, b) => (votes(a) === votes(b) ? 0 : votes(a) < votes(b) ? 1 : -1))
}

function* verdictOn(
  state: RunState,
  { fork, offers }: { fork: ForkState; offers: readonly Offer[] },
  env: HandoffEnv,
): Yielding<Verdict> {
  const [first] = offers
  if (first === undefined) return { outcome: 'none', winners: [] }
  return fork.join === 'union' ? yield* unionVerdict(state, { fork, offers }, env) : oneVerdict(state, first, env)
}

/** Applies a judgement recorded since the fork began: its objections reject the join as they would a handoff, unless an offer supersedes the place. */
function withLaterJudgement<T extends Parameters<typeof withJudgement>[2]>(
  state: RunState,
  { after, agents, offers }: { after: JsonObject; agents: readonly string[]; offers: readonly Offer[] },
  verdict: T,
): T {
  if (!heedsJudge(state, agents)) return verdict
  const supersedes = offers.flatMap((offer) => offer.supersedes ?? [])
  return withJudgement(state, { after, supersedes }, verdict)
}

/** The single winner was judged when it was offered and the context has not changed since, so its own payload is handed over. */
function oneVerdict(state: RunState, offer: Offer, env: HandoffEnv): Verdict {
  const { branch, agent, payload, add, confidence, findings, rules, manifestHash, signature, signed } = offer
  const { supersedes, moves, movesRefused, suspectsTotal } = offer
  const context = extended(state, offer)
  const judged = withLaterJudgement(state, { after: context, agents: [agent], offers: [offer] }, UNOBJECTED)
  if (judged.verdict === 'reject') return rejected(state, judged)
  return {
    outcome: 'joined',
    winners: [branch],
    envelope: {
      agent,
      mode: 'extend',
      payload,
      ...(add === undefined ? {} : { add }),
      ...(manifestHash === undefined ? {} : { manifestHash }),
      ...(supersedes === undefined ? {} : { supersedes }),
      ...(moves === undefined ? {} : { moves }),
      ...(movesRefused === undefined ? {} : { movesRefused }),
      ...(signature === undefined ? {} : { signature }),
      ...(signed === undefined ? {} : { signed }),
      context: env.digestOf(context),
      ...(rules === undefined ? {} : { rules }),
      ...(confidence === undefined ? {} : { confidence }),
      ...(findings === undefined ? {} : { findings }),
      ...(suspectsTotal === undefined ? {} : { suspectsTotal }),
    },
  }
}

function* unionVerdict(
  state: RunState,
  { fork, offers }: { fork: ForkState; offers: readonly Offer[] },
  env: HandoffEnv,
): Yielding<Verdict> {
  const contexts: { branch: string; context: JsonObject }[] = []
  for (const offer of offers) {
    contexts.push({ branch: offer.branch, context: extended(state, offer) })
    yield
  }
  const union = unionOf({ frozen: state.context, contexts, policy: state.policy })
  yield
  if (!union.ok) {
    const conflicts = union.conflicts.slice(0, FINDINGS_MAX).map(conflictBody)
    return { outcome: 'conflict', winners: [], more: { conflicts, conflictsTotal: union.conflicts.length } }
  }
  const { context } = union
  const supersedes = offers.flatMap((offer) => offer.supersedes ?? [])
  // Each declaration was judged together with its own output; refused ones are left out.
  const moves = offers.flatMap(({ moves, movesRefused = [] }) =>
    (moves ?? []).filter((_, i) => !movesRefused.includes(i)),
  )
  const handoff = {
    agent: fork.agent,
    payload: context,
    ...(supersedes.length > 0 && { supersedes }),
    ...(moves.length > 0 && { moves }),
  }
  const agents = [fork.agent, ...offers.map((offer) => offer.agent)]
  const granted = moves.length === 0 ? state.declared : [...state.declared, ...heldMoves({ moves })]
  const declaring = offers.flatMap(({ agent }) => state.manifests[safeKey(agent)] ?? [])
  const judging = { context, manifest: undefined, evidence: env.evidence, granted, declaring }
  const alone = yield* judge(state, { ...handoff, moves: undefined }, judging)
  const verdict = withLaterJudgement(state, { after: context, agents, offers }, alone)
  const { confidence, findings, suspectsTotal } = verdict
  if (verdict.verdict === 'reject') return rejected(state, verdict)
  if (env.sizeOf(context) > CONTEXT_MAX_BYTES) {
    return { outcome: 'rejected', winners: [], more: { findings: [TOO_LARGE], findingsTotal: 1 } }
  }
  return {
    outcome: 'joined',
    winners: offers.map(({ branch }) => branch),
    envelope: {
      mode: 'replace',
      ...handoff,
      context: env.digestOf(context),
      ...ruleSet(state.policy),
      ...(confidence === undefined ? {} : { confidence }),
      ...(findings.length === 0 ? {} : { findings }),
      ...(suspectsTotal === undefined ? {} : { suspectsTotal }),
    },
  }
}

const UNOBJECTED: Pick<Judged, 'verdict' | 'findings' | 'findingsTotal'> = {
  verdict: 'accept',
  findings: [],
  findingsTotal: 0,
}

function rejected(state: RunState, { findings, findingsTotal }: Pick<Judged, 'findings' | 'findingsTotal'>): Verdict {
  return {
    outcome: 'rejected',
    winners: [],
    more: { ...ruleSet(state.policy), findings: [...findings], findingsTotal },
  }
}

const TOO_LARGE: Finding = {
  rule: 'invalid-input',
  severity: 'error',
  path: '',
  message: `the union is larger than a context may be (${CONTEXT_MAX_BYTES} bytes)`,
}

function extended(state: RunState, { payload, add }: Offer): JsonObject {
  return applyMode({ context: state.context, payload, mode: 'extend', policy: state.policy, add })
}

function conflictBody({
  path,
  frozen,
  ours,
  theirs,
}: Conflict): NonNullable<EventBody<'ForkJoined'>['conflicts']>[number] {
  return {
    path: formatPointer(path),
    ...(frozen === undefined ? {} : { frozen: citedValue(frozen) }),
    ours: { branch: ours.branch, value: citedValue(ours.value) },
    theirs: { branch: theirs.branch, value: citedValue(theirs.value) },
  }
}

/** Appends the receipts, the verdict and, if a branch was merged, the handoff in one write. */
function joined(
  state: RunState,
  { fork, verdict, order }: { fork: ForkState; verdict: Verdict; order: readonly string[] },
  env: HandoffEnv,
): Decision {
  const { outcome, winners, more, envelope } = verdict
  const ended = fork.branches.map((branch) => ({ branch, status: endStatus(branch, winners) }))
  const received = ended.flatMap(({ branch, status }) => {
    const open = branch.status === 'running' || branch.status === 'offered'
    const output = branch.output === undefined ? {} : { output: branch.output }
    return open ? [receivedDraft(fork, branch, { status, ...output })] : []
  })
  const receipts = ended.map(({ branch, status }) => receiptOf(fork, { branch, status }, env))
  const { forkId, join, parent } = fork
  const joinFields = { join, outcome, winners: [...winners], order: [...order], receipts }
  const receipt = env.digestOf({
    forkId,
    frozen: fork.context,
    ...joinFields,
    context: envelope?.context ?? fork.context,
  })
  const verdictDraft: Draft = { type: 'ForkJoined', data: { v: 1, forkId, ...joinFields, receipt, ...more } }
  if (envelope === undefined) return append(...received, verdictDraft)
  const step = state.step + 1
  const accepted: Draft = { type: 'EnvelopeAccepted', data: { v: 2, step, parent, ...envelope } }
  return append(...received, verdictDraft, accepted)
}

function endStatus({ name, status }: BranchState, winners: readonly string[]): EventBody<'BranchReceived'>['status'] {
  if (status === 'running') return 'aborted'
  if (status === 'offered') return winners.includes(name) ? 'merged' : 'discarded'
  return status
}

function receiptOf(
  { forkId, context }: ForkState,
  { branch, status }: { branch: BranchState; status: EventBody<'BranchReceived'>['status'] },
  env: HandoffEnv,
): EventBody<'ForkJoined'>['receipts'][number] {
  const { name, agent, report, output, confidence, score } = branch
  const receiptFields = {
    branch: name,
    agent,
    status,
    ...(report === undefined ? {} : { report }),
    ...(output === undefined ? {} : { output }),
    ...(confidence === undefined ? {} : { confidence }),
    ...(score === undefined ? {} : { score }),
  }
  return { ...receiptFields, receipt: env.digestOf({ forkId, frozen: context, ...receiptFields }) }
}
