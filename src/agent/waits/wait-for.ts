/** @module `run.waitFor` and `run.sleep`: a wait is served from the record, or polled until the ledger reports its end (RUN-66). */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { LATEST_MS, NAME_MAX_CHARS, WAIT_MAX_MS } from '../../../schemas/value-forms.ts'
import type { StartWait } from '../../../schemas/waiting.ts'
import type { Command } from '../../client/commands.ts'
import { inCanonicalOrder } from '../../signing/canonical-json.ts'
import { type CallIdentity, identifyCall } from '../calls/call-identity.ts'
import { identifying } from '../calls/recordable.ts'
import { tell } from '../calls/tell.ts'
import { toolSpec } from '../calls/tool-spec.ts'
import { AgentError, LedgerRefused, RunWaiting, WaitTimedOut } from '../errors.ts'
import { HALTING } from '../halting.ts'
import { asRecorded } from '../history/budget-refusal.ts'
import { refusedAsThen } from '../history/refused-as-then.ts'
import { anything, checkOptions, type OptionRules } from '../option-rules.ts'
import { type ExecutionContext, signalAt } from '../runtime/execution-context.ts'
import type { Expected } from '../runtime/held-requests.ts'
import type { Turn } from '../runtime/outcome-order.ts'
import { liveOf, reach, textOf } from '../runtime/session.ts'
import { waitTool } from './wait-call.ts'
import type { RunWaitNotice } from './wait-notice.ts'

/** The end of a wait: a time, or milliseconds from now by the ledger's clock. The first recorded value applies, also on a resume. */
export type Until = Date | number

/** The maximum duration of a wait, and the signal payload that ends it. */
export interface WaitOptions {
  /** Default: no time limit. */
  readonly until?: Until
  /** JSON Schema (2020-12) for the payload: the ledger refuses a signal with any other payload. At most 64 KiB. */
  readonly schema?: object
}

export interface Waited extends WaitOptions {
  /** Name of the signal; if absent, only time ends the wait. */
  readonly name?: string
}

/** The values are validated by `waitBody`. */
const WAIT: OptionRules<Waited> = { name: anything, until: anything, schema: anything }

const FIRST_LOOK_MS = 100
const LOOK_MS = 2_000
const SLEEP_MS = 60_000
/** The end of the wait is no longer needed. */
const GIVEN_UP = Symbol('given up')

/** Waits for a signal, a time or the first of both. Returns the payload of the signal, or null if only time ends the wait. Throws `WaitTimedOut`, `invalid-wait`. */
export async function waitFor(execution: ExecutionContext, waited: Waited): Promise<Json> {
  checkOptions(waited.name === undefined ? 'run.sleep' : 'run.waitFor', waited, WAIT)
  const body = waitBody(waited)
  if (execution.undoing === true) throw invalid('a compensation cannot wait: it would hold up the rollback')
  return execution.session.workAt(execution, () => endOfWait(execution, body))
}

async function endOfWait(execution: ExecutionContext, body: StartWait): Promise<Json> {
  const { session } = execution
  session.mustBeActive()
  execution.branch?.signal.throwIfAborted()
  const spec = toolSpec(
    { name: waitTool(body.name), input: undefined, takes: 'value', execute: () => null },
    { compensate: 'not-needed', dedupe: 'position' },
  )
  const identity = identifyCall(execution, spec, null)
  const expected = session.expect(identity)
  const shared = { name: spec.name, abandoned: execution.branch?.abandoned, isWait: true }
  const end = await session.joined(`forward ${identity.key}`, shared, () =>
    session.order.inOrder((turn) => new Wait(identity, { body, turn, expected }).ended()),
  )
  return end === GIVEN_UP ? new Promise<never>(() => undefined) : end
}

class Wait {
  readonly #identity: CallIdentity
  readonly #body: StartWait
  readonly #turn: Turn
  readonly #expected: Expected | undefined
  #isNoticed = false
  #lookMs = FIRST_LOOK_MS
  /** When this process first heard that the wait continues, by the monotonic clock. */
  #heardMs: number | undefined

  constructor(
    identity: CallIdentity,
    { body, turn, expected }: { body: StartWait; turn: Turn; expected: Expected | undefined },
  ) {
    this.#expected = expected
    this.#turn = turn
    this.#identity = identity
    this.#body = body
  }

  async ended(): Promise<Json | typeof GIVEN_UP> {
    const { execution, tool } = this.#identity
    const { session } = execution
    const recorded = await this.#remembered()
    if (recorded === GIVEN_UP) return GIVEN_UP
    if (recorded !== undefined) return this.#outcome(recorded)
    refusedAsThen(session, this.#turn, this.#command())
    this.#turn.live()
    const { scope } = execution
    await session.mayGoLive(execution, { what: 'call', name: tool, scope, expected: this.#expected })
    if (session.live === undefined)
      throw session.halt(
        session.history?.unknown(this.#identity) ?? new TypeError('a session is live, or has a record'),
      )
    for (;;) {
      signalAt(execution)?.throwIfAborted()
      session.mustBeActive()
      const { answers } = session.order
      const answer = await this.#ask()
      if (answer.status !== 'waiting') {
        this.#turn.answered(answer, answer.endRevision)
        return this.#outcome(answer)
      }
      // Only a command checks held signals: nothing would wake a run that left before all were checked.
      if (answer.unchecked !== undefined) continue
      if (session.waitsOnly) return GIVEN_UP
      await this.#again(answer, answers)
    }
  }

  /** The recorded end of the wait in the form of the ledger's answer; undefined if the record has none. */
  async #remembered(): Promise<JsonObject | typeof GIVEN_UP | undefined> {
    const { session } = this.#identity.execution
    const match = session.history?.next(this.#identity)
    if (match?.kind === 'outcome') {
      this.#turn.recorded(match.attempt.endedAfter ?? 0)
      const { waitId = '', until = null } = match.call.args as JsonObject
      if (match.outcome.kind === 'failed') return { status: 'timed-out', waitId, until }
      return { status: 'signalled', payload: match.outcome.result }
    }
    if (session.live !== undefined) return undefined
    if (match?.kind !== 'open') return undefined
    if (session.history?.run.end === undefined) throw session.halt(this.#waiting(match.call.args as JsonObject))
    // The run ended without it, so its code did not need it. Outcomes are delivered meanwhile.
    this.#turn.live()
    const { history, order } = session
    const held = {
      isUnmade: () => !session.waitsOnly,
      fault: () => history.unknown(this.#identity),
      callers: this.#identity.execution.ancestors,
      signal: undefined,
    }
    await order.hold(held).catch((fault) => {
      throw session.halt(fault)
    })
    if (!session.waitsOnly) session.mustBeActive()
    return GIVEN_UP
  }

  #outcome({ status, payload = null, waitId = '', until = null }: JsonObject): Json {
    if (status !== 'timed-out') return inCanonicalOrder(payload)
    const { name = '' } = this.#body
    throw new WaitTimedOut({ runId: this.#identity.execution.session.runId, name, waitId, until })
  }

  #command(): Extract<Command, { kind: 'wait' }> {
    const { execution, occurrence } = this.#identity
    const { session, scope } = execution
    const parentCall = execution.ancestors.at(-1)?.callId
    const body = {
      ...{ ...this.#body, occurrence, runFence: session.fence },
      ...(scope !== undefined && { scope }),
      ...(parentCall !== undefined && { parentCall }),
    }
    return { kind: 'wait', body }
  }

  async #ask(): Promise<JsonObject> {
    const { session } = this.#identity.execution
    const { connection } = liveOf(session)
    const reply = await reach(session, () => connection.execute(session.runId, this.#command()))
    if (reply.ok) return reply.body
    this.#turn.refusedWith(reply.problem)
    const refused = new LedgerRefused(asRecorded(reply.problem))
    throw HALTING.has(refused.code) ? session.halt(refused) : refused
  }

  /** Waits for the next poll. Throws `RunWaiting`, and halts the run, if this process leaves it now; rejects if the signal is aborted. */
  async #again(answer: JsonObject, answers: number): Promise<void> {
    const { execution } = this.#identity
    const { session } = execution
    if (!this.#isNoticed) {
      this.#isNoticed = true
      tell('onWaiting', session.registry.onWaiting, this.#notice(answer))
    }
    const { leaving, order } = session
    const wait = { callers: execution.ancestors }
    if (leaving.leaves(wait)) throw session.halt(this.#waiting(answer))
    const lookMs = this.#body.name === undefined && !leaving.isAsked ? SLEEP_MS : this.#lookMs
    // If the local and the ledger's clock differ, the ledger's clock counts: the wait is polled until the ledger reports its end.
    const waitMs = Math.max(FIRST_LOOK_MS / 2, Math.min(lookMs, this.#leftMs(answer)))
    const look = { waitMs, answers, signal: signalAt(execution) }
    await leaving.waits(wait, () => order.untilNextLook(this.#turn, look))
    this.#lookMs = Math.min(this.#lookMs * 2, LOOK_MS)
  }

  /** Milliseconds until the end of the wait, by the local clock. For a duration, at most the whole of it from the first answer, when the ledger counted already. */
  #leftMs({ until }: JsonObject): number {
    this.#heardMs ??= performance.now()
    const { forMs = Number.POSITIVE_INFINITY } = this.#body
    const byClock = typeof until === 'string' ? Date.parse(until) - Date.now() : Number.POSITIVE_INFINITY
    return Math.min(byClock, this.#heardMs + forMs - performance.now())
  }

  #notice(answer: JsonObject): RunWaitNotice {
    const { name } = this.#body
    return {
      runId: this.#identity.execution.session.runId,
      waitId: textOf(answer, 'waitId'),
      ...(name !== undefined && { name }),
      ...(typeof answer.until === 'string' && { until: answer.until }),
    }
  }

  #waiting(answer: JsonObject): RunWaiting {
    const { name } = this.#body
    const what = name === undefined ? 'the run sleeps' : `the run waits for the signal ${name}`
    return new RunWaiting(what, { ...this.#notice(answer) })
  }
}

/** The request for a wait. Throws `invalid-wait`. */
function waitBody({ name, until, schema }: Waited): StartWait {
  if (name !== undefined && (typeof name !== 'string' || name === '' || name.length > NAME_MAX_CHARS))
    throw invalid(`the name of a signal is 1 to ${NAME_MAX_CHARS} characters`)
  if (name === undefined && until === undefined) throw invalid('run.sleep takes a time, or milliseconds from now')
  if (schema !== undefined && (typeof schema !== 'object' || schema === null || '~standard' in schema))
    throw invalid('the schema of a wait is a JSON Schema, as z.toJSONSchema(...) gives one: the ledger checks by it')
  const recorded = schema === undefined ? undefined : identifying(schema)
  if (recorded?.ok === false) throw invalid(`the schema of a wait is no JSON: ${recorded.reason}`)
  return {
    ...(name !== undefined && { name }),
    ...(until !== undefined && untilOf(until)),
    ...(recorded !== undefined && { schema: recorded.value as JsonObject }),
  }
}

function untilOf(until: Until): Pick<StartWait, 'until' | 'forMs'> {
  if (until instanceof Date) {
    if (Number.isNaN(until.getTime())) throw invalid('until is no time: an invalid Date')
    if (until.getTime() > LATEST_MS || until.getTime() < 0) throw invalid('until is a time from 1970 to 9999')
    return { until: until.toISOString() }
  }
  if (typeof until !== 'number' || !Number.isFinite(until) || until < 0)
    throw invalid('until is a Date, or milliseconds from now, 0 or more')
  if (until > WAIT_MAX_MS) throw invalid(`until is at most ${WAIT_MAX_MS} milliseconds (ten years) from now`)
  return { forMs: Math.ceil(until) }
}

const invalid = (message: string): AgentError => new AgentError('invalid-wait', message)
