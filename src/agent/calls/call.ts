/** @module A tool call from the ask to its value: served from the record, or claimed, carried out and settled (RUN-1 to RUN-18). */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { ClaimCall } from '../../../schemas/requests.ts'
import { UnreachableError } from '../../client/errors.ts'
import { pause } from '../../client/transport.ts'
import { AgentError, InDoubt, LedgerRefused, OutcomeNotRecorded, RecordedFailure } from '../errors.ts'
import type { Memory } from '../history/recollection.ts'
import type { RecordedOutcome } from '../history/recorded-outcome.ts'
import { isToolError } from '../loop/tool-error.ts'
import type { Reply } from '../runtime/connection.ts'
import { holdForStep, isInside, placeInside } from '../runtime/inside.ts'
import { type Place, runAt, signalAt } from '../runtime/place.ts'
import { liveOf, reach, textOf } from '../runtime/session.ts'
import { type Asked, askedAt, claimOf } from './asked.ts'
import { type Attempted, carryOut } from './carry-out.ts'
import { clearDoubt } from './doubt.ts'
import { type Claimed, claimedIn, keepLease } from './lease.ts'
import { type Settling, settled, settleSuccess } from './settle.ts'
import { reservedFor, usedBy } from './spending.ts'
import { issuePointer } from './standard-schema.ts'
import type { ToolSpec } from './tool-spec.ts'

/** What became of a call, told while it happens. */
export interface CallTrace {
  callId?: string
  attempts: number
  startedAt?: string
  endedAt?: string
}

/** Calls a tool at a place in a run. What can be told at once is: identity, divergence and recursion are judged before this returns. */
export async function callTool(
  place: Place,
  spec: ToolSpec,
  given: unknown,
  trace: CallTrace = { attempts: 0 },
): Promise<unknown> {
  const { session } = place
  session.mustBeActive()
  place.branch?.signal.throwIfAborted()
  const asked = askedAt(place, spec, given)
  try {
    session.recollection?.expect(asked)
  } catch (error) {
    throw error instanceof Error ? session.halt(error) : error
  }
  const start = (): Promise<unknown> => new Call(asked, trace).value()
  return session.joined(`${asked.phase} ${asked.key}`, { name: spec.name, givenUp: place.branch?.givenUp }, start)
}

/** What one look or one attempt came to. */
type Step =
  | { readonly kind: 'value'; readonly value: Json }
  | { readonly kind: 'failed'; readonly error: unknown; readonly live: boolean }
  | { readonly kind: 'again' }

const IN_PROGRESS_WAIT_MS = 1_000
/** Refusals after which this process is not the run's any more. */
const HALTING: ReadonlySet<string> = new Set(['run-taken-over', 'run-ended', 'unauthenticated'])

class Call {
  readonly #asked: Asked
  readonly #trace: CallTrace
  readonly #spec: ToolSpec
  #args: unknown
  /** Claimed in an earlier life, and what came of it is not known. */
  #doubtful: string | undefined
  #reserved: ClaimCall['reserve']

  constructor(asked: Asked, trace: CallTrace) {
    this.#asked = asked
    this.#trace = trace
    this.#spec = asked.spec
  }

  async value(): Promise<unknown> {
    const { session } = this.#asked.place
    await this.#parse()
    for (let failures = 0; ; ) {
      session.mustBeActive()
      const step = this.#remembered() ?? (await this.#checked()) ?? (await this.#live())
      if (step.kind === 'value') return step.value
      if (step.kind === 'again') continue
      failures += 1
      const { retries, retryScope } = this.#spec
      if (session.halted !== undefined) throw session.halted
      // A failure that the tool means for its caller is an answer, and the same one again.
      if (isToolError(step.error)) throw step.error
      const signal = signalAt(this.#asked.place)
      if (failures > retries || retryScope === 'transaction' || signal?.aborted === true) throw step.error
      const waitMs = this.#spec.retryWaitMs(step.error, failures)
      if (waitMs === undefined) throw step.error
      if (step.live) await pause(waitMs, signal)
    }
  }

  /** Arguments that do not fit are refused before anything is claimed. */
  async #parse(): Promise<void> {
    const { input, name } = this.#spec
    this.#args = this.#asked.given
    if (input === undefined) return
    const parsed = await input['~standard'].validate(this.#asked.given)
    if (parsed.issues === undefined) {
      this.#args = parsed.value
      return
    }
    const issues = parsed.issues.map((issue) => ({ pointer: issuePointer(issue), message: issue.message }))
    const first = issues[0] === undefined ? '' : `: ${issues[0].pointer} ${issues[0].message}`
    throw new AgentError('invalid-arguments', `the arguments of ${name} do not fit its schema${first}`, {
      tool: name,
      issues,
    })
  }

  #remembered(): Step | undefined {
    const { session } = this.#asked.place
    const { recollection, live } = session
    const memory = recollection?.next(this.#asked)
    if (memory?.kind === 'refused') throw new LedgerRefused(memory.refusal)
    if (memory === undefined || memory.kind !== 'outcome') {
      const inherited = memory?.kind === 'open' && recollection?.run.inherited?.calls.has(memory.call.callId) === true
      if (live === undefined || inherited) throw this.#notInRecord(memory)
      this.#doubtful = memory?.kind === 'open' ? memory.call.callId : undefined
      return undefined
    }
    const { call, attempt, outcome } = memory
    this.#note(call.callId, { startedAt: attempt.claimedAt, attempts: memory.attempts })
    if (attempt.endedAt !== undefined) this.#trace.endedAt = attempt.endedAt
    session.ended(call.callId, isInside(this.#asked, call.callId), attempt.endedAfter)
    return servedStep(outcome, { tool: this.#spec.name, callId: call.callId })
  }

  /** A tool that can tell is asked before a call of an earlier life is repeated, also where a repeat would be safe. */
  async #checked(): Promise<Step | undefined> {
    const callId = this.#doubtful
    this.#doubtful = undefined
    if (callId === undefined || this.#spec.check === undefined || this.#spec.onUnknown !== 'retry') return undefined
    const { session } = this.#asked.place
    const { connection } = liveOf(session)
    const cleared = await clearDoubt(connection, this.#spec, { runId: session.runId, callId, args: this.#asked.given })
    return cleared.kind === 'executed' ? { kind: 'value', value: cleared.result } : undefined
  }

  /** A replay has come to something that the record does not tell. */
  #notInRecord(memory: Memory | undefined): Error {
    const { session } = this.#asked.place
    if (memory?.kind === 'open') {
      this.#note(memory.call.callId, { attempts: memory.seen ? 1 : 0 })
      const doubt = new InDoubt({ tool: this.#spec.name, callId: memory.call.callId })
      // What the code of then was told, the code of now is told; else the record ends here.
      return memory.seen ? doubt : session.halt(doubt)
    }
    return session.halt(
      session.recollection?.unknown(this.#asked) ?? new TypeError('a session is live, or has a record'),
    )
  }

  async #live(): Promise<Step> {
    const { session } = this.#asked.place
    signalAt(this.#asked.place)?.throwIfAborted()
    await session.mayGoLive()
    const { claims } = liveOf(session)
    if (this.#asked.phase === 'model') await this.#asked.place.step?.release?.()
    this.#reserved = await reservedFor(this.#spec, this.#args)
    const ask = (): Promise<Reply> => claims.claim(claimOf(this.#asked, this.#reserved))
    const reply = this.#spec.unreachable === 'run' ? await unlessUnreachable(ask) : await reach(session, ask)
    if (reply === undefined) return { kind: 'value', value: (await this.#bare()) as Json }
    if (!reply.ok) return this.#refused(new LedgerRefused(reply.problem))
    return reply.created ? this.#carryOut(claimedIn(reply.body)) : this.#recorded(reply.body)
  }

  /** The author chose to go on without a record. */
  async #bare(): Promise<unknown> {
    const context = { idempotencyKey: this.#asked.key, callId: '', attempt: 1, signal: new AbortController().signal }
    return this.#spec.execute(this.#args, context)
  }

  async #refused(refusal: LedgerRefused): Promise<Step> {
    const { session } = this.#asked.place
    if (refusal.code === 'call-in-progress') {
      await pause(refusal.retryAfterMs ?? IN_PROGRESS_WAIT_MS, signalAt(this.#asked.place))
      return { kind: 'again' }
    }
    if (refusal.code === 'call-in-doubt') {
      const callId = textOf(refusal.evidence, 'callId')
      const { connection } = liveOf(session)
      const cleared = await clearDoubt(connection, this.#spec, {
        runId: session.runId,
        callId,
        args: this.#asked.given,
      })
      if (cleared.kind === 'executed') return { kind: 'value', value: cleared.result }
      if (cleared.kind === 'not-executed') return { kind: 'again' }
      const doubt = new InDoubt({ tool: this.#spec.name, callId }, { cause: refusal })
      // Reached on a resume: somebody has to look before the run goes on.
      throw session.recollection === undefined ? doubt : session.halt(doubt)
    }
    if (HALTING.has(refusal.code)) session.halt(refusal)
    throw refusal
  }

  /** Another ask of the same key has the outcome. */
  #recorded(body: JsonObject): Step {
    this.#note(textOf(body, 'callId'))
    if (body.status === 'succeeded') return { kind: 'value', value: body.result ?? null }
    const status = textOf(body, 'status')
    throw new LedgerRefused({ code: 'compensating', detail: `this call is ${status}`, evidence: body })
  }

  async #carryOut(claimed: Claimed): Promise<Step> {
    const { session } = this.#asked.place
    this.#note(claimed.callId, { startedAt: new Date().toISOString() })
    const { connection } = liveOf(session)
    using _ = keepLease(connection, session.runId, claimed)
    const { callId, attempt } = claimed
    const inside = placeInside(this.#asked, callId)
    holdForStep(this.#asked, claimed)
    if (attempt > 1 && inside.scope !== undefined) session.restart(inside.scope)
    const attempted = await carryOut({
      context: { idempotencyKey: callId, callId, attempt },
      timeoutMs: this.#spec.timeoutMs,
      signal: session.signal,
      notice: this.#asked.place.branch?.signal,
      isUndone: 'tool' in this.#spec.compensate,
      run: (context) => runAt({ ...inside, context }, () => this.#spec.execute(this.#args, context)),
    })
    // A nested call that found the run taken over or diverged: whether this one is done cannot be said.
    if (session.halted !== undefined && attempted.kind === 'failed') throw session.halted
    session.ended(callId, isInside(this.#asked, callId))
    const usage = usedBy(this.#spec, attempted, { args: this.#args, reserved: this.#reserved })
    const settling = { connection, runId: session.runId, tool: this.#spec.name, claimed, usage }
    try {
      return await this.#settle(settling, attempted)
    } catch (error) {
      throw error instanceof OutcomeNotRecorded ? session.halt(error) : error
    } finally {
      this.#trace.endedAt = new Date().toISOString()
    }
  }

  async #settle(settling: Settling, attempted: Attempted): Promise<Step> {
    const { callId } = settling.claimed
    if (attempted.kind === 'succeeded') {
      const kept = await settleSuccess(settling, attempted.value)
      if (kept.kind === 'result') return { kind: 'value', value: kept.value }
      const { session } = this.#asked.place
      session.unrecorded.set(callId, attempted.value)
      throw session.fail(resultNotRecorded(this.#spec.name, callId, kept.reason))
    }
    if (attempted.kind === 'failed' || this.#spec.phase === 'model') {
      await settled(settling, { error: this.#spec.failure(attempted.error) })
      return { kind: 'failed', error: attempted.error, live: true }
    }
    await settled(settling, { unknown: { reason: attempted.reason } })
    return this.#afterUnknown(callId, attempted.error)
  }

  async #afterUnknown(callId: string, cause: unknown): Promise<Step> {
    const { session } = this.#asked.place
    const call = { runId: session.runId, callId, args: this.#asked.given }
    const cleared = await clearDoubt(liveOf(session).connection, this.#spec, call)
    if (cleared.kind === 'executed') return { kind: 'value', value: cleared.result }
    if (cleared.kind === 'not-executed') return { kind: 'failed', error: cause, live: true }
    const doubt = new InDoubt({ tool: this.#spec.name, callId }, { cause })
    if (this.#spec.onUnknown === 'retry') return { kind: 'failed', error: doubt, live: true }
    throw doubt
  }

  #note(callId: string, { startedAt, attempts = 1 }: { startedAt?: string; attempts?: number } = {}): void {
    this.#trace.callId = callId
    this.#trace.attempts += attempts
    if (startedAt !== undefined) this.#trace.startedAt ??= startedAt
  }
}

async function unlessUnreachable(ask: () => Promise<Reply>): Promise<Reply | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof UnreachableError) return undefined
    throw error
  }
}

function servedStep(
  outcome: Extract<RecordedOutcome, { kind: 'succeeded' | 'failed' }>,
  call: { tool: string; callId: string },
): Step {
  if (outcome.kind === 'failed') return { kind: 'failed', error: new RecordedFailure(outcome.error), live: false }
  if (outcome.unrecorded !== undefined) throw resultNotRecorded(call.tool, call.callId, outcome.unrecorded)
  return { kind: 'value', value: outcome.result }
}

function resultNotRecorded(tool: string, callId: string, reason: string): AgentError {
  const message = `${tool} ran, but its result cannot be recorded (${reason}): the run is rolled back`
  return new AgentError('result-not-recorded', message, { tool, callId, reason })
}
