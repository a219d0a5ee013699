/** @module The execution of one call: served from the record, or claimed, executed and settled (RUN-1 to RUN-18). */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { keyReused } from '../../../schemas/key-reused.ts'
import type { ClaimCall } from '../../../schemas/requests.ts'
import type { Failure } from '../../../schemas/values.ts'
import { pause } from '../../client/transport.ts'
import { inCanonicalOrder } from '../../signing/canonical-json.ts'
import { AgentError, doubtIn, InDoubt, LedgerRefused, OutcomeNotRecorded } from '../errors.ts'
import { HALTING } from '../halting.ts'
import { asRecorded } from '../history/budget-refusal.ts'
import type { NewWork } from '../history/lost-names.ts'
import type { HistoryMatch } from '../history/recorded-history.ts'
import type { RecordedCall } from '../history/recorded-run.ts'
import { isTimedOut, isToolError, ResultTooLarge } from '../loop/tool-error.ts'
import { endingOf, executionInside, holdForStep, isInside, leave, leaveDoubt } from '../runtime/call-execution.ts'
import type { Reply } from '../runtime/connection.ts'
import { runWithin, signalAt } from '../runtime/execution-context.ts'
import type { Expected } from '../runtime/held-requests.ts'
import type { Going } from '../runtime/leaving.ts'
import type { Turn } from '../runtime/outcome-order.ts'
import { liveOf, reach, textOf } from '../runtime/session.ts'
import { isPartSource, keepReceived, PartStream, receivedBefore, servedParts } from '../streams/part-stream.ts'
import { usageAttributes } from '../tracing/call-span.ts'
import { ApprovalWait, isDecided, notApproved } from './approval-wait.ts'
import { type CallIdentity, claimOf } from './call-identity.ts'
import type { CallTrace } from './call-trace.ts'
import { caughtError } from './caught-error.ts'
import { unlessUnreachable } from './claim-queue.ts'
import { type Attempted, executeCall, withoutEffects } from './execute-call.ts'
import { type Claimed, claimedIn, underLease } from './lease.ts'
import { OwnerWait } from './owner-wait.ts'
import { parseArguments } from './parse-arguments.ts'
import { recordedResult } from './recorded-result.ts'
import { type DoubtResolution, resolveDoubt } from './resolve-doubt.ts'
import { resultNotRecorded, type Step, servedStep, succeededStep } from './served-step.ts'
import { endIn, type RecordedEnd, type Settling, StepNotTaken, settled, settleSuccess } from './settle.ts'
import { inFull, reservedFor, usedBy } from './spending.ts'
import { mayRunUnclaimed, StepClaim } from './step-claim.ts'
import type { CallContext } from './tool-options.ts'
import type { ToolSpec } from './tool-spec.ts'

type Open = Extract<HistoryMatch, { kind: 'open' }>

interface Asked {
  readonly trace: CallTrace
  readonly turn: Turn
  readonly open: (parts: PartStream) => void
  readonly expected: Expected | undefined
  /** Position of the last outcome that the code had been given when it asked. */
  readonly after: number
  readonly going: Going
}

export class OneCall {
  readonly #identity: CallIdentity
  readonly #trace: CallTrace
  readonly #turn: Turn
  readonly #spec: ToolSpec
  readonly #going: Going
  #args: unknown
  /** A call that an earlier process claimed and whose outcome is unknown. */
  #doubtful: Open | undefined
  #left: Open | undefined
  #reserved: ClaimCall['reserve']
  #ownerWait: OwnerWait | undefined
  #approvalWait: ApprovalWait | undefined
  readonly #open: (parts: PartStream) => void
  readonly #expected: Expected | undefined
  #parts: PartStream | undefined
  /** Whether the call ran without a record of its result. */
  #isBare = false
  #isTried = false
  /** Whether the ledger has the call, or requires a claim. */
  #isClaimed = false
  /** Position of the last outcome that the code had been given when it asked. */
  readonly #after: number
  /** That position in the run's own events, for the claim of a call that ran before it was claimed, or may have, in an earlier process. */
  #ranAfter: Pick<ClaimCall, 'after'> = {}

  constructor(identity: CallIdentity, { trace, turn, open, expected, after, going }: Asked) {
    this.#going = going
    this.#expected = expected
    this.#turn = turn
    this.#open = open
    this.#identity = identity
    this.#trace = trace
    this.#spec = identity.spec
    this.#after = after
    if (expected?.isHeld === false && expected.isHad === true)
      this.#ranAfter = { after: identity.execution.session.ownEventsUpTo(after) }
  }

  /** Returns a function that opens the value, so that each caller that joined the call gets its own copy. */
  async value(): Promise<() => unknown> {
    const { session } = this.#identity.execution
    this.#args = await this.#arguments()
    for (let failures = 0; ; ) {
      session.mustBeActive()
      const step = (await this.#remembered()) ?? (await this.#checked()) ?? (await this.#live())
      if (step.kind === 'value') return this.#opener(step.value)
      if (step.kind === 'kept') return this.#opener(await recordedResult(this.#identity, step.call))
      if (step.kind === 'again') continue
      failures += 1
      const { retries, retryScope } = this.#spec
      if (session.halted !== undefined) throw session.halted
      // A failure that the tool addresses to its caller (`ToolError`) is an answer; a retry would give the same one.
      if ((isToolError(step.error) && !isTimedOut(step.error)) || this.#wasOpened(step.error)) throw this.#caught(step)
      const signal = signalAt(this.#identity.execution)
      if (failures > retries || retryScope === 'transaction' || signal?.aborted === true) throw this.#caught(step)
      const waitMs = this.#spec.retryWaitMs(step.error, failures)
      if (waitMs === undefined) throw this.#caught(step)
      if (!step.live) continue
      this.#turn.live()
      await pause(waitMs, signal)
    }
  }

  /** The error for the caller, the same live as from the record. */
  #caught({ error, failure, live }: Extract<Step, { kind: 'failed' }>): unknown {
    if (failure === undefined) return error
    const { caught, errors, codecs } = this.#spec
    const options = live ? { cause: error } : undefined
    const recorded = inCanonicalOrder(failure) as unknown as Failure
    const made = caught?.(recorded, options) ?? caughtError(recorded, { classes: errors, codecs }, options)
    return keepReceived(made, recorded)
  }

  /**
   * Opens a recorded result, live and from the record; each caller gets its own copy. A value that no codec can restore halts the run, which can be resumed
   * once the codec is there.
   */
  #opener(recorded: Json): () => unknown {
    const isBare = this.#isBare
    return () => (isBare ? recorded : this.#restored(recorded))
  }

  #restored(recorded: Json): unknown {
    try {
      const value = this.#spec.codecs.decode(recorded)
      if (!this.#spec.stream) return value
      return this.#parts?.feed.isEmpty === false
        ? this.#parts.feed
        : servedParts(Array.isArray(value) ? value : [value])
    } catch (error) {
      throw error instanceof Error ? this.#identity.execution.session.halt(error) : error
    }
  }

  async #remembered(): Promise<Step | undefined> {
    const { session } = this.#identity.execution
    const { history, live } = session
    const match = history?.next(this.#identity)
    if (match?.kind === 'refused') {
      this.#turn.recordedRefusal(match.after)
      throw notApproved(session, this.#spec.name, match.refusal) ?? new LedgerRefused(match.refusal)
    }
    if (match === undefined || match.kind !== 'outcome') {
      const inherited = match?.kind === 'open' && history?.run.inherited?.calls.has(match.call.callId) === true
      if (live === undefined || inherited) {
        if (match?.kind !== 'open') await reservedFor(this.#spec, this.#args)
        return this.#notInRecord(match)
      }
      this.#doubtful = match?.kind === 'open' ? match : undefined
      this.#left = this.#doubtful
      if (match?.kind === 'open') this.#isClaimed = true
      this.#turn.live()
      return undefined
    }
    const { call, attempt, outcome } = match
    this.#isClaimed = true
    this.#mustBeSame(call)
    if (attempt.endedAfter !== undefined) this.#turn.recorded(attempt.endedAfter)
    this.#note(call.callId, { startedAt: attempt.claimedAt, attempts: match.attempts })
    if (attempt.endedAt !== undefined) this.#trace.endedAt = attempt.endedAt
    session.ended(call.callId, isInside(this.#identity, call.callId), attempt.endedAfter)
    return servedStep(outcome, { tool: this.#spec.name, callId: call.callId, runId: call.runId })
  }

  /** An author-defined key that was used with other arguments or by another tool is refused, as the ledger does (RUN-8). */
  #mustBeSame({ callId, argsDigest, tool }: RecordedCall): void {
    if (this.#spec.key === undefined) return
    const { argsDigest: asked, execution, tool: byTool } = this.#identity
    const { session } = execution
    const ofTool = tool === byTool ? undefined : tool
    if (ofTool === undefined) {
      const first = session.served.get(callId) ?? asked
      session.served.set(callId, first)
      if (first === asked) return
    }
    this.#turn.repeated()
    const { code, detail, evidence } = keyReused({ callId, expected: argsDigest, actual: asked, ofTool })
    throw new LedgerRefused({ code, detail, evidence })
  }

  /** Runs the tool's `check`, if it has one, before a call of an earlier process is repeated, even if a repeat would be safe. */
  async #checked(): Promise<Step | undefined> {
    const { callId } = this.#doubtful?.call ?? {}
    this.#doubtful = undefined
    if (callId === undefined || this.#spec.check === undefined || this.#spec.onUnknown !== 'retry') return undefined
    const { session } = this.#identity.execution
    const { connection } = liveOf(session)
    const call = { runId: session.runId, callId, recordedArgs: this.#identity.args }
    const cleared = await resolveDoubt(connection, this.#spec, call)
    return cleared.kind === 'executed' ? this.#found(callId, cleared) : undefined
  }

  /** The check of the tool has found the outcome of an attempt that an earlier process left: its times and its number are those of the record. */
  #found(callId: string, { answer, result }: Extract<DoubtResolution, { kind: 'executed' }>): Step {
    this.#note(callId, { attempts: 0 })
    this.#noteOpen()
    this.#ended(endIn(answer))
    return { kind: 'value', value: result }
  }

  #noteOpen(): void {
    if (this.#left === undefined) return
    const { call, attempt, attempts } = this.#left
    this.#note(call.callId, { attempts, ...(attempt && { startedAt: attempt.claimedAt }) })
    if (attempt?.endedAt !== undefined) this.#trace.endedAt = attempt.endedAt
  }

  /** What a replay does at a call whose outcome is not recorded. */
  async #notInRecord(match: HistoryMatch | undefined): Promise<never> {
    const { session } = this.#identity.execution
    if (session.history?.endsBefore(this.#identity, match) === true) return this.#underWayAtTheEnd(match)
    if (match?.kind === 'open') {
      this.#left = match
      if (match.seen) this.#noteOpen()
      const { outcome } = match.call.attempts.at(-1) ?? {}
      const reason = outcome?.kind === 'unknown' ? outcome.reason : undefined
      const doubt = new InDoubt({ tool: this.#spec.name, callId: match.call.callId, runId: session.runId, reason })
      if (match.after !== undefined) this.#turn.recorded(match.after)
      // If the earlier process got this answer, so does this one; otherwise the record ends here.
      throw match.seen ? doubt : session.halt(doubt)
    }
    this.#turn.live()
    await session.mayGoLive(this.#identity.execution, this.#work)
    throw session.halt(session.history?.unknown(this.#identity) ?? new TypeError('a session is live, or has a record'))
  }

  /** What a replay does at a call that was in progress when the code beside it threw. */
  #underWayAtTheEnd(match: HistoryMatch | undefined): Promise<never> {
    const { session } = this.#identity.execution
    const { tool, spec } = this.#identity
    const callId = match?.kind === 'open' ? match.call.callId : ''
    const fault = (): Error =>
      match?.kind === 'open'
        ? new InDoubt({ tool: spec.name, callId, runId: session.runId })
        : (session.history?.unknown(this.#identity) ?? new TypeError(`${tool} is in a record`))
    this.#turn.live()
    return session.underWayAtTheEnd(this.#identity.execution, fault)
  }

  get #work(): NewWork {
    const { tool, execution } = this.#identity
    // An outcome that was had without the ledger is in no record, and one whose value is not recorded came before what the record holds next.
    const isHad = this.#spec.unreachable === 'run' || execution.isAgain === true
    const expected = isHad ? { ...this.#expected, isHeld: true } : this.#expected
    return { what: 'call', name: tool, scope: execution.scope, expected }
  }

  async #live(): Promise<Step> {
    const { session } = this.#identity.execution
    signalAt(this.#identity.execution)?.throwIfAborted()
    const { execution } = this.#identity
    // A refusal before the claim is not recorded; a resume must meet it at the same place.
    if (session.history?.isBehind === true) await reservedFor(this.#spec, this.#args)
    await session.mayGoLive(execution, this.#work)
    const { claims } = liveOf(session)
    if (this.#begins() && mayRunUnclaimed(this.#identity)) return this.#runUnclaimed()
    if (this.#identity.phase === 'model') await this.#identity.execution.step?.release?.()
    this.#reserved = await reservedFor(this.#spec, this.#args)
    const body = { ...claimOf(this.#identity, this.#reserved), ...this.#ranAfter }
    const ask = (): Promise<Reply> => claims.claim(body, execution.span?.traceparent)
    const { answers } = session.order
    // The result is recorded already and precedes all outcomes that arrive meanwhile.
    if (session.answered.has(this.#identity.key)) this.#turn.looking()
    const reply = this.#spec.unreachable === 'run' ? await unlessUnreachable(ask) : await reach(session, ask)
    if (reply === undefined || reply.ok) this.#turn.live()
    if (reply === undefined) return { kind: 'value', value: (await this.#bare()) as Json }
    if (!reply.ok) return this.#refused(new LedgerRefused(asRecorded(reply.problem)), reply.problem.revision, answers)
    if (!reply.created) return this.#recorded(reply.body)
    this.#isClaimed = true
    const claimed = claimedIn(reply.body)
    if (reply.body.redacted !== undefined) session.redactedArgs.set(claimed.callId, this.#identity.args)
    return this.#carryOut(claimed)
  }

  /** Whether this is the first start of the call: neither this process nor the record that it continues has begun it before, so the ledger does not have it. */
  #begins(): boolean {
    const { execution, key } = this.#identity
    const { begun, history } = execution.session
    const isKnown = this.#isClaimed || begun.has(key) || history?.holds(this.#identity) === true
    begun.add(key)
    return !isKnown
  }

  /** The arguments as read back from the record, as a new copy per attempt, so that changes by the tool do not affect the next one. */
  #arguments(): unknown {
    const { args, input } = this.#identity
    // A call without arguments must pass undefined, so that a default parameter of the tool applies.
    return parseArguments(this.#spec, input === undefined ? undefined : this.#spec.codecs.decode(args))
  }

  /** The author chose to continue without a record while the ledger is unreachable. */
  async #bare(): Promise<unknown> {
    this.#isBare = true
    const context = { idempotencyKey: this.#identity.key, callId: '', attempt: 1, signal: new AbortController().signal }
    return this.#spec.execute(this.#args, context)
  }

  /** `answers`: number of outcomes that had arrived when the ledger was asked. */
  async #refused(refusal: LedgerRefused, revision: number | undefined, answers: number): Promise<Step> {
    const { session } = this.#identity.execution
    if (refusal.code === 'call-in-progress') {
      this.#turn.live()
      this.#ownerWait ??= new OwnerWait({ runId: session.runId, tool: this.#spec.name }, session.registry.onWait)
      const callId = textOf(refusal.evidence, 'callId')
      await this.#ownerWait.again(callId, refusal.retryAfterMs, signalAt(this.#identity.execution))
      return { kind: 'again' }
    }
    if (refusal.code === 'result-redacted') {
      this.#repeated()
      return { kind: 'kept', call: { callId: textOf(refusal.evidence, 'callId') } }
    }
    if (refusal.code === 'call-in-doubt') {
      const callId = textOf(refusal.evidence, 'callId')
      const { connection } = liveOf(session)
      const cleared = await resolveDoubt(connection, this.#spec, {
        runId: session.runId,
        callId,
        recordedArgs: this.#identity.args,
      })
      if (cleared.kind === 'executed') return this.#found(callId, cleared)
      if (cleared.kind === 'not-executed') {
        this.#turn.answered(cleared.answer)
        return { kind: 'again' }
      }
      this.#turn.refused(revision)
      const doubt = new InDoubt({ tool: this.#spec.name, callId, runId: session.runId }, { cause: refusal })
      // On a resume, the doubt must be resolved before the run continues.
      throw session.history === undefined ? doubt : session.halt(doubt)
    }
    if (refusal.code === 'approval-pending') {
      this.#approvalWait ??= new ApprovalWait(session, this.#spec.name)
      const { message: detail, evidence } = refusal
      const at = { turn: this.#turn, answers, execution: this.#identity.execution, own: this.#going }
      await this.#approvalWait.again({ detail, evidence }, at)
      return { kind: 'again' }
    }
    if (revision === undefined && isDecided(refusal.code)) this.#turn.untold()
    else this.#turn.refusedWith({ code: refusal.code, ...(revision !== undefined && { revision }) })
    if (HALTING.has(refusal.code)) session.halt(refusal)
    const { code, message: detail, evidence } = refusal
    throw notApproved(session, this.#spec.name, { code, detail, evidence }) ?? refusal
  }

  /** The outcome that another request with the same key has recorded. */
  #recorded(body: JsonObject): Step {
    this.#note(textOf(body, 'callId'))
    this.#repeated()
    if (body.status === 'succeeded') {
      const { session } = this.#identity.execution
      return succeededStep(body, { tool: this.#spec.name, runId: session.runId })
    }
    const status = textOf(body, 'status')
    throw new LedgerRefused({ code: 'compensating', detail: `this call is ${status}`, evidence: body })
  }

  /** The ledger had the outcome before it was asked: this code was given it, or another process recorded it. */
  #repeated(): void {
    const { execution, key } = this.#identity
    if (execution.session.answered.has(key)) this.#turn.repeated()
    else this.#turn.untold()
  }

  #carryOut(claimed: Claimed): Promise<Step> {
    const { session } = this.#identity.execution
    const { connection } = liveOf(session)
    return underLease({ connection, runId: session.runId, claimed }, () => this.#carriedOut(claimed))
  }

  /** Runs the call before it is claimed. If the ledger does not record it, the call is claimed next, and a refusal of that claim is handled as for any other. */
  async #runUnclaimed(): Promise<Step> {
    const { session } = this.#identity.execution
    this.#turn.live()
    this.#isClaimed = true
    const after = session.ownEventsUpTo(this.#after)
    const step = new StepClaim(this.#identity, after)
    try {
      return await this.#carriedOut(step.claimed, step)
    } catch (error) {
      if (!(error instanceof StepNotTaken)) throw error
      if (error.code === 'claim-first') session.claimsFirst([this.#identity.tool])
      this.#ranAfter = { after }
      return { kind: 'again' }
    } finally {
      step.end()
    }
  }

  async #carriedOut(claimed: Claimed, step?: StepClaim): Promise<Step> {
    const { session } = this.#identity.execution
    const { callId, attempt } = claimed
    this.#going.callId = callId
    this.#note(callId, { ...(step === undefined && { startedAt: claimed.claimedAt }), attempts: 0 })
    this.#trace.attempts = attempt
    this.#trace.carriedOut = true
    const { connection } = liveOf(session)
    const inside = executionInside(this.#identity, claimed, step?.claim)
    holdForStep(this.#identity, claimed)
    if (attempt > 1 && inside.scope !== undefined) session.restart(inside.scope)
    const outcome = await executeCall({
      context: {
        idempotencyKey: callId,
        callId,
        attempt,
        ...(inside.span && { traceparent: inside.span.traceparent }),
      },
      timeoutMs: this.#spec.timeoutMs,
      ...endingOf(this.#identity),
      run: (context) => runWithin({ ...inside, context }, () => this.#execute(context)),
    })
    const attempted = this.#spec.effects === 'none' ? withoutEffects(this.#spec.name, outcome) : outcome
    // The doubt about a call inside this one ends neither, and a worker leaves the run.
    const doubt = session.isCarried && attempted.kind === 'failed' ? doubtIn(attempted.error) : undefined
    if (doubt !== undefined) {
      await leaveDoubt(session, doubt)
      session.holdUp(callId, doubt)
    }
    // A nested error halted the run: whether this call is done is unknown, however its code ended. A concurrent call that ended without that error has its
    // outcome.
    if (session.isHeldUp(callId, attempted.kind === 'succeeded' ? undefined : attempted.error)) {
      if (step === undefined || (await step.isClaimed())) await leave(session, claimed)
      throw session.halted
    }
    const unclaimed = await step?.unclaimed()
    if (step?.claimedAt !== undefined) this.#note(callId, { startedAt: step.claimedAt, attempts: 0 })
    session.ended(callId, isInside(this.#identity, callId))
    const usage = usedBy(this.#spec.name, this.#spec, attempted, { args: this.#args, reserved: this.#reserved })
    inside.span?.set(usageAttributes(usage))
    const { name: tool, codecs, record, onTooLarge } = this.#spec
    const spent = { usage, reserved: inFull(this.#reserved) }
    const settling = {
      connection,
      runId: session.runId,
      tool,
      claimed,
      unclaimed,
      ...spent,
      codecs,
      record,
      onTooLarge,
    }
    try {
      return await this.#settle(settling, attempted)
    } catch (error) {
      throw error instanceof OutcomeNotRecorded ? session.halt(error) : error
    }
  }

  async #execute(context: CallContext): Promise<unknown> {
    const { stream, codecs, name } = this.#spec
    if (this.#isTried) this.#args = await this.#arguments()
    this.#isTried = true
    const returned = await this.#spec.execute(this.#args, context)
    if (!stream) return returned
    if (!isPartSource(returned))
      throw new AgentError('invalid-stream', `${name} says stream and gave no parts`, { tool: name })
    const { session } = this.#identity.execution
    const parts = new PartStream({ codecs, isHalted: () => session.halted !== undefined })
    this.#parts = parts
    return parts.collect(returned, context.signal, () => this.#open(parts))
  }

  /** Whether the caller has received a part of the result; the call is then not retried. */
  #wasOpened(error: unknown): boolean {
    return this.#parts?.feed.isEmpty === false || (this.#spec.stream && receivedBefore(error).length > 0)
  }

  async #settle(settling: Settling, attempted: Attempted): Promise<Step> {
    const { callId } = settling.claimed
    const { session } = this.#identity.execution
    if (attempted.kind === 'succeeded') {
      const found = await settleSuccess(settling, attempted.value)
      this.#ended(found)
      // A value that is not recorded is kept in memory for a compensation by this process.
      const isComplete = found.kind === 'result' && found.redacted !== true && this.#spec.record !== 'digest'
      const { codecs } = this.#spec
      if (!isComplete)
        session.unrecorded.set(callId, found.kind === 'result' ? codecs.decode(found.value) : attempted.value)
      if (found.kind === 'result') return { kind: 'value', value: found.value }
      if (found.kind === 'refused')
        return { kind: 'failed', error: new ResultTooLarge(this.#spec.name, found.reason), live: true }
      throw session.fail(resultNotRecorded(this.#spec.name, callId, found.reason))
    }
    if (attempted.kind === 'failed' || this.#spec.phase === 'model') {
      const own = this.#spec.failure(attempted.error)
      const error = this.#parts?.failure(own) ?? own
      const answer = await settled(settling, { error })
      this.#ended(endIn(answer))
      const failure = answer.redacted === undefined ? error : await this.#recordedFailure(callId)
      return { kind: 'failed', error: attempted.error, failure, live: true }
    }
    const answer = await settled(settling, { unknown: { reason: attempted.reason } })
    this.#ended(endIn(answer))
    return this.#afterUnknown(settling.claimed, attempted, answer)
  }

  /** The failure as recorded, after the policy redacted its text. */
  async #recordedFailure(callId: string): Promise<Failure> {
    const { session } = this.#identity.execution
    const calls = await reach(session, () => liveOf(session).connection.calls(session.runId))
    return calls.find((call) => call.callId === callId)?.error as unknown as Failure
  }

  async #afterUnknown(
    claimed: Claimed,
    { error: cause, reason }: Extract<Attempted, { kind: 'unknown' }>,
    answer: JsonObject,
  ): Promise<Step> {
    const { session } = this.#identity.execution
    const { callId } = claimed
    const call = { runId: session.runId, callId, recordedArgs: this.#identity.args }
    this.#turn.live()
    const cleared = await resolveDoubt(liveOf(session).connection, this.#spec, call)
    this.#ended(endIn(cleared.kind === 'in-doubt' ? answer : cleared.answer))
    if (cleared.kind === 'executed') return { kind: 'value', value: cleared.result }
    if (cleared.kind === 'not-executed')
      return { kind: 'failed', error: cause, failure: { message: reason, code: 'outcome-unknown' }, live: true }
    const doubt = new InDoubt({ tool: this.#spec.name, callId, runId: session.runId, reason }, { cause })
    session.doubts.set(callId, claimed)
    if (this.#spec.onUnknown === 'retry') return { kind: 'failed', error: doubt, live: true }
    throw doubt
  }

  #ended({ endedAt, answer }: RecordedEnd): void {
    this.#turn.answered(answer)
    // Claim and outcome of a step are one append.
    if (endedAt !== undefined) this.#trace.startedAt ??= endedAt
    if (endedAt !== undefined) this.#trace.endedAt = endedAt
  }

  #note(callId: string, { startedAt, attempts = 1 }: { startedAt?: string; attempts?: number } = {}): void {
    this.#trace.callId = callId
    this.#trace.attempts += attempts
    if (startedAt !== undefined) this.#trace.startedAt ??= startedAt
  }
}
