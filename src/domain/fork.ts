/** @module Decisions on a fork: opening it over a frozen context, and recording the report of each branch (RUN-38). */
import { applyMode } from '../../projections/merge.ts'
import { branchOf } from '../../projections/run-forks.ts'
import {
  type BranchState,
  establishedDigest,
  type ForkState,
  type RunState,
  safeKey,
} from '../../projections/run-state.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { ForkBranch } from '../../schemas/fork.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { ReportBranch, StartFork } from '../../schemas/requests.ts'
import type { Failure } from '../../schemas/values.ts'
import { tokensFault } from './budget.ts'
import {
  append,
  covers,
  type Decision,
  type Draft,
  type Env,
  mustBeOpen,
  mustNotBeForked,
  mustNotCompensate,
  refuse,
} from './decision.ts'
import { withHandedPlaces } from './handed-place.ts'
import {
  CONTEXT_MAX_BYTES,
  type HandoffEnv,
  LARGE_BYTES,
  preconditionFault,
  refusedEnvelope,
  ruleSet,
  withDigest,
} from './handoff.ts'
import { judgedFault } from './judgement.ts'
import { type Refusal, refusal } from './refusal.ts'
import type { Judgement } from './validator/judge-at-once.ts'
import { judge } from './validator/judge-handoff.ts'
import { refusesOvershoot } from './validator/policy/with-manifest.ts'
import type { Yielding } from './yielding.ts'

/** Opens a fork. A run has at most one open fork; a repeat with the same scopes and content is answered by the known fork. */
export function decideFork(state: RunState, body: StartFork, env: Env): Decision {
  const { runFence, ...content } = body
  const requestDigest = env.digestOf(content)
  const known = forkOfScopes(state, body)
  if (known !== undefined) {
    return known.requestDigest === requestDigest ? { kind: 'as-is' } : refuse(forkExists(known, requestDigest))
  }
  const closed = mustBeOpen(state, runFence) ?? mustNotBeForked(state) ?? mustNotCompensate(state)
  if (closed !== undefined) return refuse(closed)
  const branches = body.branches.map((branch) => ({ ...branch, scope: branch.scope ?? freeScope(state, branch.name) }))
  const agent = body.agent ?? env.actor
  const agents = [agent, ...branches.map((branch) => branch.agent)]
  const wrong = branchesFault(state, branches) ?? unionFault(state, body, agent) ?? judgedFault(state, agents)
  if (wrong !== undefined) return refuse(wrong)
  return append({
    type: 'ForkStarted',
    data: {
      v: 1,
      forkId: env.newId(),
      agent,
      step: state.lineage.at(-1)?.step ?? 0,
      context: state.contextDigest,
      parent: establishedDigest(state, env.headDigest ?? ''),
      branches,
      join: body.join,
      onDiscard: body.onDiscard ?? 'compensate',
      requestDigest,
    },
  })
}

/** The known fork that the request repeats, found by a scope it gives a branch; undefined if no such scope is taken. */
export function forkOfScopes(state: RunState, { branches }: StartFork): ForkState | undefined {
  for (const { scope } of branches) {
    const forkId = scope === undefined ? undefined : state.forkScopes[safeKey(scope)]
    if (forkId !== undefined) return state.forks[safeKey(forkId)]
  }
  return undefined
}

function forkExists(known: ForkState, requestDigest: string): Refusal {
  return refusal(
    'fork-exists',
    'a branch of another fork of this run has one of these scopes; each fork needs its own',
    {
      pointer: '/branches',
      evidence: { forkId: known.forkId, expected: known.requestDigest, actual: requestDigest },
    },
  )
}

/** The name is escaped, because a slash would split it into two path segments. */
function freeScope(state: RunState, name: string): string {
  const path = `fork:${name.replaceAll(/[%/#]/g, encodeURIComponent)}`
  let scope = path
  for (let n = 2; state.forkScopes[safeKey(scope)] !== undefined; n += 1) scope = `${path}#${n}`
  return scope
}

function branchesFault(state: RunState, branches: readonly ForkBranch[]): Refusal | undefined {
  const taken = Object.keys(state.forkScopes).map((key) => key.slice(1))
  for (const [i, { agent, scope, manifestHash }] of branches.entries()) {
    const closed = mustNotCompensate(state, scope)
    if (closed !== undefined) return { ...closed, pointer: `/branches/${i}/scope` }
    const around = taken.find((other) => covers(scope, other))
    if (around !== undefined) {
      return refusal('fork-exists', `the scope ${scope} holds a branch of an earlier fork (${around})`, {
        pointer: `/branches/${i}/scope`,
      })
    }
    const registered = state.manifests[safeKey(agent)]?.hash
    if (manifestHash === undefined || manifestHash === registered) continue
    return refusal('manifest-mismatch', `the manifest registered for ${agent} has another hash`, {
      pointer: `/branches/${i}/manifestHash`,
      evidence: { expected: manifestHash, actual: registered ?? null },
    })
  }
  return undefined
}

/** A union has no single author, so it cannot be handed over in the name of an agent whose manifest requires a signature. */
function unionFault(state: RunState, { join }: StartFork, agent: string): Refusal | undefined {
  if (join !== 'union' || state.manifests[safeKey(agent)]?.manifest.requireSignature !== true) return undefined
  return refusal('signature-invalid', `the manifest of ${agent} requires a signature, and a union has none`, {
    pointer: '/agent',
  })
}

/** Judges the output of a branch against the frozen context. A rejected output fails its branch, not the fork. */
export function* decideBranch(
  state: RunState,
  { forkId, body }: { readonly forkId: string; readonly body: ReportBranch },
  env: HandoffEnv,
): Yielding<Decision> {
  const fork = state.forks[safeKey(forkId)]
  if (fork === undefined) return refuse(noSuchFork(forkId))
  const branch = branchOf(fork, body.branch)
  if (branch === undefined) return refuse(noSuchBranch(fork, body.branch))
  const { runFence, ...content } = body
  const report = env.digestOf(content)
  if (branch.status !== 'running') {
    return branch.report === report ? { kind: 'as-is' } : refuse(received(fork, branch))
  }
  const closed = mustBeOpen(state, runFence) ?? mustNotCompensate(state, branch.scope)
  if (closed !== undefined) return refuse(closed)
  if (body.agent !== undefined && body.agent !== branch.agent) return refuse(notItsAgent(branch, body.agent))

  if (body.output !== undefined) return yield* judged(state, { fork, branch, output: body.output, body, report }, env)
  return append(receivedDraft(fork, branch, { report, ...tokensOf(body), ...endOf(body) }))
}

function endOf({ error, refused, aborted }: ReportBranch): Pick<EventBody<'BranchReceived'>, 'status' | 'error'> {
  if (error !== undefined) return { status: 'failed', error }
  if (refused !== undefined) return { status: 'refused', error: refused }
  return { status: 'aborted', error: { message: aborted?.reason ?? '' } }
}

interface Judged extends Report {
  /** Digest of the content that the agent signed. */
  readonly signed: string | undefined
}

interface Report {
  readonly fork: ForkState
  readonly branch: BranchState
  readonly output: JsonObject
  readonly body: ReportBranch
  readonly report: string
}

function* judged(state: RunState, inputs: Report, env: HandoffEnv): Yielding<Decision> {
  const { branch, output, body } = inputs
  const { agent, manifestHash } = branch
  const { add, tokens, supersedes, moves, signature, parent } = body
  const manifest = state.manifests[safeKey(agent)]
  const established = establishedDigest(state, env.headDigest ?? '')
  const said = { add, tokens, supersedes, moves, signature }
  const posted = { agent, manifestHash, payload: output, mode: 'extend' as const, ...said }
  const envelope = withDigest({ ...posted, parent: parent ?? established }, env)
  const wrong = preconditionFault(state, envelope, { posted: { ...posted, parent }, established, manifest, env })
  if (wrong !== undefined) return refusedEnvelope(state, env, { wrong, signature })

  const overBudget = refusesOvershoot(state, manifest) ? tokensFault(state, envelope, env) : undefined
  if (overBudget !== undefined) {
    const { tokens: _, ...uncharged } = body
    return append(refusedDraft({ ...inputs, body: uncharged, signed: envelope.signed }, { error: overBudget }))
  }
  const context = applyMode({ context: state.context, payload: output, mode: 'extend', policy: state.policy, add })
  const bytes = env.sizeOf(context)
  const over = sizeFault(bytes)
  const { signed } = envelope
  if (over !== undefined) return append(refusedDraft({ ...inputs, signed }, { error: over }))
  if (bytes > LARGE_BYTES) yield
  const found = yield* judge(state, envelope, { context, manifest, evidence: env.evidence, sent: env.sent })
  const verdict = yield* withHandedPlaces(found, { before: state.context, after: context, payload: output, add })
  if (verdict.verdict === 'reject')
    return append(refusedDraft({ ...inputs, signed }, { ...contradictionOf(verdict), ...ruleSet(state.policy) }))
  return append(offeredDraft({ ...inputs, signed }, { ...verdict, ...ruleSet(state.policy) }, env))
}

function sizeFault(bytes: number): Failure | undefined {
  if (bytes <= CONTEXT_MAX_BYTES) return undefined
  return {
    code: 'context-too-large',
    message: 'the context would outgrow its limit',
    details: { limit: CONTEXT_MAX_BYTES, actual: bytes },
  }
}

type Refusing = Pick<EventBody<'BranchReceived'>, 'error' | 'rules' | 'findings' | 'findingsTotal' | 'confidence'>

function contradictionOf({ findings, findingsTotal, confidence }: Judgement): Refusing {
  const error = { code: 'contradiction', message: 'the output contradicts what was established' }
  return { error, findings, findingsTotal, ...(confidence === undefined ? {} : { confidence }) }
}

function refusedDraft({ fork, branch, output, body, report, signed }: Judged, why: Refusing): Draft {
  const { add } = body
  const fields = {
    report,
    ...tokensOf(body),
    payload: output,
    ...(add === undefined ? {} : { add }),
    ...(signed === undefined ? {} : { signed }),
  }
  return receivedDraft(fork, branch, { status: 'refused', ...fields, ...why })
}

function offeredDraft(
  { fork, branch, output, body, report, signed }: Judged,
  verdict: Judgement & { rules?: number },
  env: Env,
): Draft {
  const { add, score, supersedes, moves, signature } = body
  const { movesRefused } = verdict
  return {
    type: 'BranchOffered',
    data: {
      v: 1,
      forkId: fork.forkId,
      branch: branch.name,
      agent: branch.agent,
      report,
      ...(verdict.rules === undefined ? {} : { rules: verdict.rules }),
      ...tokensOf(body),
      ...(verdict.confidence === undefined ? {} : { confidence: verdict.confidence }),
      ...(score === undefined ? {} : { score }),
      payload: output,
      ...(add === undefined ? {} : { add }),
      output: env.digestOf(output),
      ...(supersedes === undefined ? {} : { supersedes }),
      ...(moves === undefined ? {} : { moves }),
      ...(movesRefused === undefined ? {} : { movesRefused }),
      ...(branch.manifestHash === undefined ? {} : { manifestHash: branch.manifestHash }),
      ...(signature === undefined ? {} : { signature }),
      ...(signed === undefined ? {} : { signed }),
      ...(verdict.findings.length === 0 ? {} : { findings: verdict.findings }),
      ...(verdict.suspectsTotal === undefined ? {} : { suspectsTotal: verdict.suspectsTotal }),
    },
  }
}

type Received = Omit<EventBody<'BranchReceived'>, 'v' | 'forkId' | 'branch' | 'agent'>

/** The event that records how a branch ended. */
export function receivedDraft({ forkId }: ForkState, { name, agent }: BranchState, data: Received): Draft {
  return { type: 'BranchReceived', data: { v: 1, forkId, branch: name, agent, ...data } }
}

function tokensOf({ tokens }: ReportBranch): { tokens?: number } {
  return tokens === undefined ? {} : { tokens }
}

export function noSuchFork(forkId: string): Refusal {
  return refusal('fork-not-found', `this run has no fork ${forkId}`)
}

function noSuchBranch({ forkId, branches }: ForkState, name: string): Refusal {
  return refusal('branch-not-found', `the fork has no branch ${name}`, {
    pointer: '/branch',
    evidence: { forkId, branches: branches.map((branch) => branch.name) },
  })
}

function received({ forkId, outcome }: ForkState, { name, status }: BranchState): Refusal {
  const evidence = { forkId, branch: name, status }
  if (outcome !== undefined) return refusal('fork-joined', `the fork is joined; the branch is ${status}`, { evidence })
  return refusal('branch-received', `the branch has reported already and is ${status}; a report is made once`, {
    evidence,
  })
}

function notItsAgent({ name, agent }: BranchState, actual: string): Refusal {
  return refusal('agent-mismatch', `the branch ${name} is that of ${agent}`, {
    pointer: '/agent',
    evidence: { expected: agent, actual },
  })
}
