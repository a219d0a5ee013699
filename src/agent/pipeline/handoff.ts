/** @module Handoffs and rewinds requested by the body of a run: served from the record, or posted to the ledger (RUN-22, RUN-34 to RUN-37). */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import type { PostEnvelope } from '../../../schemas/requests.ts'
import { inCanonicalOrder } from '../../signing/canonical-json.ts'
import { jsonDigest } from '../../signing/digests.ts'
import { readRecord } from '../branch/read-record.ts'
import { recordable } from '../calls/recordable.ts'
import { AgentError, LedgerRefused } from '../errors.ts'
import { HALTING } from '../halting.ts'
import { asRecorded } from '../history/budget-refusal.ts'
import { refusedAsThen } from '../history/refused-as-then.ts'
import type { Reply } from '../runtime/connection.ts'
import type { ExecutionContext } from '../runtime/execution-context.ts'
import type { Turn } from '../runtime/outcome-order.ts'
import { liveOf, reach, type Session, textOf } from '../runtime/session.ts'
import { notRecordable } from '../too-large.ts'
import { checkHandoff, checkRollback } from './check-handoff.ts'
import { inHandoffSpan } from './handoff-span.ts'
import type {
  Envelope,
  Established,
  Finding,
  HandoffOptions,
  HandoffResult,
  OpenSuspect,
  Rewound,
  RollbackOptions,
} from './handoff-types.ts'
import { manifestRequest } from './manifest.ts'
import { handoffContent, type RequestedFact } from './pipeline.ts'
import type { HandoffFact } from './recorded-handoffs.ts'

const REASON = 'asked for by the code of the run'

/**
 * Hands a payload over. A contradiction is part of the result. Throws `not-recordable`, `invalid-manifest`, `handoff-in-step`, `handoff-in-branch`,
 * `resume-diverged`, and `LedgerRefused` for any other refusal.
 */
export async function handOff(
  execution: ExecutionContext,
  payload: object,
  options: HandoffOptions,
): Promise<HandoffResult> {
  checkHandoff(options)
  mustNotBeStep(execution, options.agent)
  return handOffAt(execution, payload, options)
}

/** The handoff at the end of a step, with the agent's answer. */
export async function handOffAt(
  execution: ExecutionContext,
  payload: object,
  options: HandoffOptions,
): Promise<HandoffResult> {
  const { session, scope } = execution
  session.mustBeActive()
  const { agent, mode = 'replace', supersedes, moves, tokens, manifest } = options
  const add = options.add === undefined ? undefined : objectOf(options.add, agent)
  const request: RequestedFact = {
    what: 'handoff',
    agent,
    scope,
    occurrence: session.pipeline.occurrence('handoff', scope, agent),
  }
  const value = objectOf(payload, agent)
  const registered = manifest === undefined ? undefined : manifestRequest(agent, manifest)
  const content = handoffContent({ mode, payload: value, add, supersedes, moves, manifestHash: registered?.hash })
  const body: PostEnvelope = {
    agent,
    payload: value,
    mode,
    occurrence: request.occurrence,
    runFence: session.fence,
    ...(add !== undefined && { add }),
    ...(scope !== undefined && { scope }),
    ...(tokens !== undefined && { tokens }),
    ...(registered !== undefined && { manifestHash: registered.hash }),
    ...(supersedes !== undefined && { supersedes: [...supersedes] }),
    ...(moves !== undefined && { moves: [...moves] }),
  }
  const seen = { served: false }
  const delegated = async (turn: Turn): Promise<HandoffResult> => {
    const before = session.pipeline.view.now().context
    const overBudget = session.pipeline.refused(request, content)
    if (overBudget !== undefined) {
      turn.recorded(overBudget.index)
      throw new LedgerRefused(overBudget.refusal)
    }
    if (registered !== undefined) refusedAsThen(session, turn, { kind: 'manifest', body: registered.body })
    refusedAsThen(session, turn, { kind: 'envelope', body })
    const fact = servedFact(session, request, content)
    seen.served = fact !== undefined || session.live === undefined
    if (fact !== undefined) {
      turn.recorded(fact.index)
      return considered(session, before, handoffResult(session, fact))
    }
    turn.live()
    await session.mayGoLive(execution, { what: 'handoff', name: agent, scope })
    const refusesUnjudged = [session.pipeline.policy, manifest?.policy].some((policy) => policy?.judge === 'reject')
    if (refusesUnjudged) await session.judging.settled()
    if (registered !== undefined) await register(session, registered, turn)
    return considered(session, before, await posted(session, body, turn))
  }
  return tracked(session, request, (turn) => inHandoffSpan(execution, { agent, seen }, () => delegated(turn)))
}

/** Passes an accepted handoff to the judge, which works in the background. */
function considered(session: Session, before: JsonObject, result: HandoffResult): HandoffResult {
  if (!result.ok) return result
  const { step, agent, findings } = result.envelope
  session.judging.consider({ step, agent, before, after: session.pipeline.view.now().context, findings })
  return result
}

/** Moves the context back. Throws like `handOff`, and `LedgerRefused` if there is no such step. */
export async function rollBackContext(execution: ExecutionContext, options: RollbackOptions): Promise<Rewound> {
  const { reason = REASON, toStep } = options
  const { session, scope } = execution
  session.mustBeActive()
  checkRollback(options)
  mustNotBeStep(execution, execution.step?.agent ?? '')
  const query: RequestedFact = {
    what: 'rollback',
    agent: '',
    scope,
    occurrence: session.pipeline.occurrence('rollback', scope, ''),
  }
  const body = {
    reason,
    occurrence: query.occurrence,
    runFence: session.fence,
    ...(toStep !== undefined && { toStep }),
    ...(scope !== undefined && { scope }),
  }
  return tracked(session, query, async (turn) => {
    refusedAsThen(session, turn, { kind: 'rollback', body })
    const fact = servedFact(session, query, { reason })
    if (fact !== undefined) turn.recorded(fact.index)
    else turn.live()
    if (fact?.kind === 'rewound') return rewound(session, fact)
    await session.mayGoLive(execution, { what: 'handoff', name: 'a rollback', scope })
    const { connection } = liveOf(session)
    const reply = await reach(session, () => connection.execute(session.runId, { kind: 'rollback', body }))
    if (!reply.ok) throw refused(session, reply, turn)
    turn.answered(reply.body)
    const { fromStep, contextDigest, callsSince } = reply.body
    const rewind = { v: 1, fromStep, toStep: reply.body.toStep, snapshot: 0, cause: 'rollback', reason, callsSince }
    added(session, 'rewound', { ...rewind, context: contextDigest ?? '' }, reply.body)
    return { ...restoredOf({ ...reply.body, step: reply.body.toStep ?? 0 }), ...rewindFacts(reply.body) }
  })
}

/** The context as the code has reached it: the recorded one on resume and replay, otherwise the ledger's current one. */
export async function establishedContext(session: Session): Promise<Established> {
  return (await contextForTurn(session)).established
}

/** The context with its open suspects, for an agent's turn. Suspects are needed only live, because a turn is a call and is served otherwise. */
export async function contextForTurn(
  session: Session,
): Promise<{ readonly established: Established; readonly suspects: readonly OpenSuspect[] }> {
  session.mustBeActive()
  const { pipeline, live, runId } = session
  if (live === undefined || pipeline.isBehind) return { established: pipeline.view.now(), suspects: [] }
  const body = await reach(session, () => live.connection.context(runId))
  const { suspects = [] } = body
  const current = pipeline.view.now()
  const isCurrent = current.step === body.step && current.contextDigest === body.contextDigest
  // Another answer may be in flight; a context folded without it does not match the digest.
  if (isCurrent && jsonDigest(current.context) === current.contextDigest) return { established: current, suspects }
  pipeline.refresh((await readRecord(live.connection, runId)).handoffs)
  return { established: pipeline.view.now(), suspects }
}

/** The context is frozen while a fork is open, so the handoff is refused before an agent is called in vain. */
export function mustNotBeBranch({ branch }: ExecutionContext, agent: string): void {
  if (branch === undefined) return
  const message = 'a branch of a fork hands over what its function returns: return it, and call what you need in it'
  throw new AgentError('handoff-in-branch', message, { branch: branch.scope, agent })
}

/** A step hands off once, at its end; a further handoff in its scope would be taken for that one. */
function mustNotBeStep(execution: ExecutionContext, agent: string): void {
  mustNotBeBranch(execution, agent)
  const { step, scope } = execution
  if (step === undefined || step.scope !== scope) return
  const message = `a step hands off what its function returns: return it, or hand off in run.scope(name, fn)`
  throw new AgentError('handoff-in-step', message, { step: step.agent, agent })
}

/** Awaited at the end of the run, like a call, and delivered in its turn; a divergence halts the run. */
function tracked<T>(session: Session, request: RequestedFact, ask: (turn: Turn) => Promise<T>): Promise<T> {
  const name = request.what === 'rollback' ? 'run.rollback' : `handoff of ${request.agent}`
  return session.joined(JSON.stringify(request), name, () => session.order.inOrder(ask))
}

function servedFact(session: Session, request: RequestedFact, content: JsonObject): HandoffFact | undefined {
  try {
    const fact = session.pipeline.served(request, content)
    if (fact === undefined && session.live === undefined) throw session.pipeline.unknown(request)
    return fact
  } catch (error) {
    throw error instanceof Error ? session.halt(error) : error
  }
}

export async function register(
  session: Session,
  { body, hash }: ReturnType<typeof manifestRequest>,
  turn?: Turn,
): Promise<void> {
  const { manifests } = session.pipeline
  if (manifests.get(body.agent) === hash) return
  // Before the ledger has the rules, so that nothing they name runs unclaimed meanwhile.
  for (const { tools } of body.policy?.approve ?? []) session.claimsFirst(tools)
  const { connection } = liveOf(session)
  const reply = await reach(session, () => connection.execute(session.runId, { kind: 'manifest', body }))
  if (!reply.ok) throw refused(session, reply, turn)
  manifests.set(body.agent, hash)
}

async function posted(session: Session, body: PostEnvelope, turn: Turn): Promise<HandoffResult> {
  const { connection } = liveOf(session)
  const reply = await reach(session, () => connection.execute(session.runId, { kind: 'envelope', body }))
  const { agent, payload, add, mode, occurrence } = body
  const more = add === undefined ? {} : { add }
  const envelope = { v: 1, agent, payload, ...more, mode: mode ?? 'replace', occurrence: occurrence ?? 0 }
  if (reply.ok) {
    turn.answered(reply.body)
    const { step, parent, contextDigest, confidence, findings } = reply.body
    const found = confidence === undefined ? {} : { confidence }
    const accepted = { ...envelope, step, parent, context: contextDigest, ...found, findings }
    const fact = added(session, 'accepted', accepted, reply.body)
    // The recorded context is the established one; it differs from the sent one if the policy redacted something.
    if (reply.body.redacted !== undefined)
      session.pipeline.refresh((await readRecord(connection, session.runId)).handoffs)
    return handoffResult(session, fact)
  }
  if (reply.problem.code !== 'contradiction') throw refused(session, reply, turn)
  turn.answered(reply.problem.evidence)
  const { findings, restored } = reply.problem.evidence as { findings: Json; restored: JsonObject }
  added(session, 'rejected', { ...envelope, findings }, reply.problem.evidence)
  const rewind = { v: 1, toStep: restored.step ?? 0, context: restored.contextDigest ?? '', cause: 'contradiction' }
  added(session, 'rewound', rewind, reply.problem.evidence)
  return { ok: false, findings: findings as unknown as readonly Finding[], restored: restoredOf(restored) }
}

/** Adds a fact that this process recorded, in the form that a replay would read. */
function added(session: Session, kind: HandoffFact['kind'], body: object, answer: JsonObject): HandoffFact {
  const index = session.indexOf(answer)
  const fact = { kind, index, scope: undefined, occurrence: undefined, body } as unknown as HandoffFact
  session.pipeline.add(fact)
  return fact
}

function restoredOf(restored: JsonObject): Established {
  const { step, context } = restored
  const contextDigest = textOf(restored, 'contextDigest')
  return { step: Number(step ?? 0), contextDigest, context: inCanonicalOrder(context ?? {}) as JsonObject }
}

function handoffResult(session: Session, fact: HandoffFact): HandoffResult {
  if (fact.kind === 'accepted') return { ok: true, envelope: envelopeOf(fact.body) }
  const { findings = [] } = fact.body as { findings?: readonly Finding[] }
  return { ok: false, findings, restored: session.pipeline.view.now() }
}

function envelopeOf(body: Extract<HandoffFact, { kind: 'accepted' }>['body']): Envelope {
  const { step, agent, mode, parent, context, confidence, findings = [] } = body
  const found = confidence === undefined ? {} : { confidence }
  return { step, agent, mode, parent, contextDigest: context, ...found, findings }
}

function rewound(session: Session, { body }: HandoffFact): Rewound {
  return { ...session.pipeline.view.now(), ...rewindFacts(body) }
}

function rewindFacts(rewind: object): Pick<Rewound, 'fromStep' | 'callsSince'> {
  const { fromStep, callsSince } = rewind as Rewound
  return { fromStep, callsSince }
}

function refused(session: Session, reply: Extract<Reply, { ok: false }>, turn?: Turn): LedgerRefused {
  turn?.refusedWith(reply.problem)
  const refusal = new LedgerRefused(asRecorded(reply.problem))
  return HALTING.has(refusal.code) ? session.halt(refusal) : refusal
}

function objectOf(payload: unknown, agent: string): JsonObject {
  const recorded = recordable(payload)
  if (!recorded.ok) {
    throw notRecordable(`what ${agent} hands over`, recorded, { code: 'context-too-large', agent })
  }
  if (isJsonObject(recorded.value)) return recorded.value
  throw new AgentError('not-recordable', `what ${agent} hands over is no JSON object`, { agent })
}
