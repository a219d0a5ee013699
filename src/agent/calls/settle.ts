/** @module Records the outcome of an attempt, with retries until the ledger has it. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { ClaimCall, SettleCall, StepOutcome } from '../../../schemas/requests.ts'
import type { Usage } from '../../../schemas/values.ts'
import { LedgerError, UnreachableError } from '../../client/errors.ts'
import { pause } from '../../client/transport.ts'
import { clip, LedgerRefused, OutcomeNotRecorded } from '../errors.ts'
import { type Connection, NotAskedAgain, type Reply } from '../runtime/connection.ts'
import { TOO_LARGE } from '../too-large.ts'
import type { Codecs } from './codecs.ts'
import type { Claimed } from './lease.ts'
import { CALL_VALUE, recordable } from './recordable.ts'
import { warnOfUsage } from './spending.ts'

/** Milliseconds to wait before each retry. */
const WAITS_MS = [50, 200, 800, 2_000, 4_000] as const
const REASON_MAX_CHARS = 1_000
/** Refusals of a result that the ledger cannot hold. */
const NOT_ACCEPTED: ReadonlySet<string> = new Set(['invalid-body', 'invalid-json'])
/** Refusals of a usage that the ledger cannot count. */
const USAGE_NOT_TAKEN: ReadonlySet<string> = new Set(['currency-mismatch', 'budget-exceeded'])

export interface Settling {
  readonly connection: Connection
  readonly runId: string
  readonly tool: string
  readonly claimed: Claimed
  /** The claim of a call that ran unclaimed, to be sent with the outcome. */
  readonly unclaimed?: ClaimCall | undefined
  /** Usage of the attempt, reported with any outcome. */
  readonly usage?: Usage | undefined
  /** Usage to report if the ledger refuses `usage`; undefined for none. */
  readonly reserved?: Usage | undefined
  /** Codecs for the result. */
  readonly codecs?: Codecs
  /** For a compensation: a part of the call's effects remains. */
  readonly leftStanding?: true
  /** `digest`: only a digest of the result is recorded. */
  readonly record?: 'digest' | undefined
  /** Default: the run is rolled back. */
  readonly onTooLarge?: 'refuse' | 'roll-back'
  /** Default: up to seven seconds in total. */
  readonly waitsMs?: readonly number[]
}

/** Thrown if the ledger did not record a call that ran unclaimed: another caller has its outcome, or it has to be claimed first. */
export class StepNotTaken extends Error {
  /** Code of the refusal; undefined if the call has an outcome. */
  readonly code: string | undefined

  constructor(code?: string) {
    super('the call ran before it was claimed, and the ledger did not record it')
    this.code = code
  }
}

/** How a success was recorded: with its result, or with the reason why the result could not be recorded. */
export type SettledSuccess = RecordedEnd &
  (
    | { readonly kind: 'result'; readonly value: Json; readonly redacted?: true }
    | { readonly kind: 'unrecorded'; readonly reason: string }
    /** Too large: the caller gets an error as the answer, and the run continues. */
    | { readonly kind: 'refused'; readonly reason: string }
  )

/** Records the result of a successful call. Throws `OutcomeNotRecorded` or `LedgerRefused`. */
export async function settleSuccess(settling: Settling, live: unknown): Promise<SettledSuccess> {
  const result = recordable(live, settling.codecs, CALL_VALUE)
  if (!result.ok) return settleUnrecorded(settling, result, live)
  const { record } = settling
  const standing = settling.leftStanding === true ? { leftStanding: true as const } : {}
  const reply = await settle(settling, { result: result.value, ...standing, ...(record && { record }) }, live)
  if (reply.ok) {
    const isRedacted = reply.body.redacted !== undefined
    return { kind: 'result', value: result.value, ...endIn(reply.body), ...(isRedacted && { redacted: true as const }) }
  }
  const { code, evidence } = reply.problem
  const tooLarge = TOO_LARGE.has(code)
  if (!isNotHeld(code)) throw new LedgerRefused(reply.problem)
  const sizes = tooLarge && evidence.limit !== undefined ? `: ${evidence.actual} bytes, at most ${evidence.limit}` : ''
  return settleUnrecorded(settling, { reason: `${code}${sizes}`, tooLarge }, live)
}

async function settleUnrecorded(
  settling: Settling,
  fault: { readonly reason: string; readonly tooLarge?: boolean },
  live: unknown,
): Promise<SettledSuccess> {
  const reason = clip(fault.reason, REASON_MAX_CHARS)
  const answered = fault.tooLarge === true && settling.onTooLarge === 'refuse'
  const answer = await settled(settling, { unrecorded: { reason, ...(answered && { answered }) } }, live)
  return { kind: answered ? 'refused' : 'unrecorded', reason, ...endIn(answer) }
}

/** The recorded end of the call, and the ledger's answer that reports it. */
export interface RecordedEnd {
  readonly endedAt?: string
  readonly answer: JsonObject
}

export function endIn(answer: JsonObject): RecordedEnd {
  const { endedAt } = answer
  return { answer, ...(typeof endedAt === 'string' && { endedAt }) }
}

/** Records any other outcome and returns the answer. Throws like `settleSuccess`. */
export async function settled(
  settling: Settling,
  outcome: Omit<SettleCall, 'fence'>,
  live?: unknown,
): Promise<JsonObject> {
  const reply = await settle(settling, outcome, live)
  if (!reply.ok) throw new LedgerRefused(reply.problem)
  return reply.body
}

/** Sends the outcome. If the ledger refuses the usage, the outcome is recorded with the reserved amount. */
async function settle(settling: Settling, outcome: Omit<SettleCall, 'fence'>, live: unknown): Promise<Reply> {
  const { tool, usage, reserved } = settling
  const kind = 'unrecorded' in outcome ? 'unrecorded' : 'outcome'
  const reply = await untilHeard(settling, { kind, outcome, usage }, live)
  if (settling.unclaimed !== undefined) return mustBeTaken(reply)
  if (reply.ok || usage === undefined || !USAGE_NOT_TAKEN.has(reply.problem.code)) return reply
  warnOfUsage(tool, reply.problem.detail)
  return untilHeard(settling, { kind: `${kind}-estimated`, outcome, usage: reserved }, live)
}

/** Throws `StepNotTaken` if claim and outcome were not accepted in one append, for example as too large together; they are then sent in two. */
function mustBeTaken(reply: Reply): Reply {
  if (!reply.ok) throw new StepNotTaken(reply.problem.code)
  if (!reply.created) throw new StepNotTaken()
  return reply
}

/** Whether the ledger cannot hold the result. */
function isNotHeld(code: string): boolean {
  return TOO_LARGE.has(code) || NOT_ACCEPTED.has(code)
}

interface Report {
  readonly kind: string
  readonly outcome: Omit<SettleCall, 'fence'>
  readonly usage: Usage | undefined
}

async function untilHeard(settling: Settling, { kind, outcome, usage }: Report, live: unknown): Promise<Reply> {
  const { connection, runId, claimed, unclaimed } = settling
  const { callId, fence } = claimed
  const body = { fence, ...outcome, ...(usage !== undefined && { usage }) }
  const command =
    unclaimed === undefined
      ? ({ kind: 'settle', callId, body } as const)
      : ({ kind: 'claim', body: { ...unclaimed, outcome: outcome as StepOutcome } } as const)
  for (const waitMs of [...(settling.waitsMs ?? WAITS_MS), undefined]) {
    try {
      return await connection.execute(runId, command, { idempotencyKey: `${kind}:${callId}:${fence}` })
    } catch (error) {
      const passing = error instanceof UnreachableError || error instanceof LedgerError
      if (waitMs === undefined || !passing || error instanceof NotAskedAgain)
        throw new OutcomeNotRecorded({ tool: settling.tool, callId }, live, { cause: error })
      await pause(waitMs)
    }
  }
  throw new OutcomeNotRecorded({ tool: settling.tool, callId }, live)
}
