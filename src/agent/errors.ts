/** @module Every error of the runtime, each with a stable code and the evidence that a program or a person needs to proceed. */
import type { AgentErrorCode, LedgerErrorCode } from '../../schemas/error-code.ts'
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import type { Failure } from '../../schemas/values.ts'
import type { Established, Finding } from './pipeline/handoff-types.ts'
import type { Problem } from './runtime/connection.ts'
import { causesOf, memberOf, thrownText } from './thrown.ts'

/**
 * An error that the runtime itself detected. `code` is stable (`AgentErrorCode`); `evidence` is plain JSON with the expected and the actual values.
 * @example
 * ```ts
 * import { AgentError, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const book = cs.tool(async () => 'seat', { name: 'book' })
 * try {
 *   cs.tool(async () => 'other', { name: 'book' })
 * } catch (error) {
 *   if (!(error instanceof AgentError)) throw error
 *   console.log(error.code, book.toolName) // tool-registered-twice book
 * }
 * ```
 */
export class AgentError extends Error {
  /** A literal, because a bundler may rename the class. */
  static readonly errorName: string = 'AgentError'
  readonly code: AgentErrorCode
  /** Expected and actual values, or the faulty item, as plain JSON. */
  readonly evidence: JsonObject

  constructor(code: AgentErrorCode, message: string, evidence: JsonObject = {}, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.errorName
    this.code = code
    this.evidence = evidence
  }
}

/**
 * The ledger refused a command. `code` is the ledger's own, such as `budget-exceeded`; `retryAfterMs` (milliseconds) is set if a later retry may succeed.
 * @example
 * ```ts
 * import { LedgerRefused, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const spend = cs.tool(async () => 'done', { name: 'spend', reserve: { tokens: 11 } })
 * const refused = await cs.run({ name: 'small', budget: { tokens: 10 } }, async () => spend()).catch((error) => error)
 * console.log(refused instanceof LedgerRefused, refused.code) // true budget-exceeded
 * ```
 */
export class LedgerRefused extends AgentError {
  static override readonly errorName = 'LedgerRefused'
  declare readonly code: LedgerErrorCode
  readonly retryAfterMs: number | undefined

  constructor({ code, detail, evidence, retryAfterMs }: Problem) {
    super(code, detail, evidence)
    this.retryAfterMs = retryAfterMs
  }
}

/**
 * Thrown by a tool that cannot tell whether its side effect happened. The call is then in doubt and is never retried silently.
 * @example
 * ```ts
 * import { InDoubt, OutcomeUnknown, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const pay = cs.tool(
 *   async (cents: number): Promise<string> => {
 *     throw new OutcomeUnknown(`the provider hung up on a payment of ${cents}`)
 *   },
 *   { name: 'pay' },
 * )
 * const error = await cs.run({ name: 'order' }, async () => pay(100)).catch((thrown) => thrown)
 * console.log(error instanceof InDoubt)
 * ```
 */
export class OutcomeUnknown extends Error {
  readonly code = 'outcome-unknown'

  constructor(message = 'the outcome is not known', options?: ErrorOptions) {
    super(message, options)
    this.name = 'OutcomeUnknown'
  }
}

/**
 * Thrown if it is not known whether a call was executed (`call-in-doubt`): find out, then resolve it. The call is never run again silently. `evidence` has
 * `tool` and `callId`.
 * @example
 * ```ts
 * import { InDoubt, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const pay = cs.tool(() => new Promise<string>(() => {}), { name: 'pay', timeout: 20 })
 * const error = await cs.run({ name: 'order' }, async () => pay()).catch((thrown) => thrown)
 * if (error instanceof InDoubt) console.log(error.evidence.tool) // pay
 * ```
 */
export class InDoubt extends AgentError {
  static override readonly errorName = 'InDoubt'
  constructor(
    call: { tool: string; callId: string; runId: string; reason?: string | undefined },
    options?: ErrorOptions,
  ) {
    const { tool, callId, runId, reason } = call
    const details = { tool, callId, runId, ...(reason !== undefined && { reason }) }
    super(
      'call-in-doubt',
      `whether ${call.tool} was executed is not known (call ${call.callId}): find out, then cs.resolve it`,
      details,
      options,
    )
  }
}

/** The doubt about a call that an error of the code reports; undefined if the failure of that call is recorded. */
export function doubtIn(error: unknown): InDoubt | undefined {
  for (const cause of causesOf(error)) {
    if (cause instanceof RecordedFailure) return undefined
    if (cause instanceof InDoubt) return cause
  }
  return undefined
}

/**
 * The run has to wait (`run-waiting`), and does not wait in this process: it was started with `whenWaiting: 'leave'`, or the runtime is closed by `close()`. The
 * run stays open and nothing is rolled back; the next resume continues from this point.
 * @example
 * ```ts
 * import { open, RunWaiting } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const pay = cs.tool(async (cents: number) => `paid ${cents}`, { name: 'pay', approve: true })
 * const left = await cs.run({ id: 'order-1', name: 'order', whenWaiting: 'leave' }, async () => pay(5_000)).catch((error) => error)
 * if (left instanceof RunWaiting) console.log(left.evidence.tool) // pay
 * ```
 */
export class RunWaiting extends AgentError {
  static override readonly errorName = 'RunWaiting'
  constructor(message: string, evidence: JsonObject) {
    super('run-waiting', `${message}: resume the run once it is there`, evidence)
  }
}

/**
 * The deadline of a wait passed before its signal arrived (`wait-timed-out`). The result is the same live, on resume and on replay. `evidence` has `name`,
 * `waitId` and `until`.
 * @example
 * ```ts
 * import { open, WaitTimedOut } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const answer = await cs.run({ name: 'order' }, async (run) =>
 *   run.waitFor('confirmed', { until: 10 }).catch((error) => (error instanceof WaitTimedOut ? 'not confirmed' : Promise.reject(error))),
 * )
 * console.log(answer) // not confirmed
 * ```
 */
export class WaitTimedOut extends AgentError {
  static override readonly errorName = 'WaitTimedOut'
  constructor(of: { readonly runId: string; readonly name: string; readonly waitId: Json; readonly until: Json }) {
    super('wait-timed-out', `the signal ${of.name} did not come in time`, { ...of })
  }
}

/** Code for a divergence in a resume, in a replay, or in the part of another run that a branch inherits. */
export type DivergenceCode = 'resume-diverged' | 'replay-diverged' | 'branch-diverged'

/**
 * The code requests something that differs from the recorded run (`resume-diverged`, `replay-diverged`, `branch-diverged`). Nothing was executed and the run
 * stays open. `evidence` has the expected and the actual request.
 * @example
 * ```ts
 * import { open, ResumeDiverged } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const say = cs.tool(async (text: string) => text, { name: 'say', compensate: 'not-needed' })
 * await cs.run({ id: 'talk', name: 'talk' }, async () => say('hello'))
 * const error = await cs.replay('talk', async () => say('goodbye')).catch((thrown) => thrown)
 * console.log(error instanceof ResumeDiverged, error.code) // true replay-diverged
 * ```
 */
export class ResumeDiverged extends AgentError {
  static override readonly errorName = 'ResumeDiverged'
  constructor(message: string, details: JsonObject, code: DivergenceCode = 'resume-diverged') {
    super(code, message, details)
  }
}

/**
 * An agent's handoff contradicts the established context or the agent's manifest (`handoff-refused`). The run was rewound and no repair attempt is left.
 * `findings` give the reasons, `restored` is the context established now, `attempts` is the number of times the agent was called.
 * @example
 * ```ts
 * import { HandoffRefused, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const error = await cs
 *   .run({ name: 'report' }, async (run) => {
 *     await run.step('researcher', () => ({ entities: ['Apple'] }))
 *     await run.step('writer', () => ({ summary: 'growth' }), { mode: 'replace' })
 *   })
 *   .catch((thrown) => thrown)
 * if (error instanceof HandoffRefused) console.log(error.findings[0]?.rule) // critical-key-removed
 * ```
 */
export class HandoffRefused extends AgentError {
  static override readonly errorName = 'HandoffRefused'
  readonly findings: readonly Finding[]
  /** The context that is established after the rewind. */
  readonly restored: Established
  /** Number of times the agent was called. */
  readonly attempts: number

  constructor(agent: string, attempts: number, refused: { findings: readonly Finding[]; restored: Established }) {
    const { findings, restored } = refused
    const first = findings.find(({ severity }) => severity === 'error') ?? findings[0]
    const reason = first === undefined ? '' : `: ${first.rule} at ${first.path || 'the whole'}: ${first.message}`
    super('handoff-refused', `the handoff of ${agent} was refused${reason}`, {
      agent,
      attempts,
      findings: findings as unknown as Json,
      restoredStep: restored.step,
    })
    this.findings = findings
    this.restored = restored
    this.attempts = attempts
  }
}

/**
 * The recorded failure of a call. Its caller catches the same error live, on resume and on replay. `name`, `message`, `code` and `status` are copied from the
 * thrown error, as far as it had them. `cause` is the thrown error itself, only in the process that caught it. To catch an instance of your own class, list the
 * class in the tool's `errors` option.
 * @example
 * ```ts
 * import { open, RecordedFailure } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const book = cs.tool(async (): Promise<string> => Promise.reject(new Error('no seat is left')), { name: 'book' })
 * const body = async () => book().catch((error: Error) => `${error.message} (${error instanceof RecordedFailure})`)
 * console.log(await cs.run({ id: 'trip', name: 'trip' }, body)) // no seat is left (true)
 * console.log((await cs.replay('trip', body)).verdict) // exact
 * ```
 */
export class RecordedFailure extends Error {
  readonly code: string | undefined
  /** HTTP status, if the error carried one. */
  readonly status: number | undefined
  readonly evidence: Json | undefined

  constructor({ message, code, details = null }: Failure, options?: ErrorOptions) {
    super(message, options)
    const { name, status } = isJsonObject(details) ? details : {}
    this.name = typeof name === 'string' ? name : 'RecordedFailure'
    this.code = code
    this.status = typeof status === 'number' ? status : undefined
    this.evidence = details ?? undefined
  }
}

/**
 * The tool ran, but its outcome could not be recorded (`outcome-not-recorded`). `result` is the tool's return value. The call is in doubt: check before you run
 * it again.
 * @example
 * ```ts
 * import { OutcomeNotRecorded } from 'countersign/agent'
 *
 * // Keeps what was done although the ledger was out of reach.
 * export function salvage(error: unknown): unknown {
 *   return error instanceof OutcomeNotRecorded ? { call: error.evidence.callId, result: error.result } : undefined
 * }
 * console.log(salvage(new Error('something else')))
 * ```
 */
export class OutcomeNotRecorded extends AgentError {
  static override readonly errorName = 'OutcomeNotRecorded'
  readonly result: unknown

  constructor(call: { tool: string; callId: string }, result: unknown, options?: ErrorOptions) {
    const details = { tool: call.tool, callId: call.callId }
    const why = options?.cause === undefined ? '' : `: ${thrownText(options.cause)}`
    super('outcome-not-recorded', `the outcome of ${call.tool} could not be recorded${why}`, details, options)
    this.result = result
  }
}

const MESSAGE_MAX_CHARS = 16_000
const NAME_MAX_CHARS = 256

/** Converts anything that was thrown to the failure that is recorded for it. */
export function failureOf(error: unknown): Failure {
  const message = clip(thrownText(error), MESSAGE_MAX_CHARS)
  if (typeof error !== 'object' || error === null) return { message }
  const [name, code, status, statusCode] = ['name', 'code', 'status', 'statusCode'].map((each) => memberOf(error, each))
  const told = [status, statusCode].find((each) => typeof each === 'number' && Number.isFinite(each))
  const details = {
    ...(typeof name === 'string' && name !== '' && { name: clip(name, NAME_MAX_CHARS) }),
    ...(told !== undefined && { status: told as number }),
  }
  return {
    message,
    ...(typeof code === 'string' && code !== '' && { code: clip(code, NAME_MAX_CHARS) }),
    ...(Object.keys(details).length > 0 && { details }),
  }
}

/** Truncates a text to `maxChars` and replaces unpaired surrogates with U+FFFD. */
export function clip(text: string, maxChars: number): string {
  return text
    .slice(0, maxChars)
    .replaceAll(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd')
}
