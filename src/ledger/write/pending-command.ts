/** @module A command on its way through the write path, what one try at it came to, and the outcome that its caller gets. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { ValueRef } from '../../../schemas/values.ts'
import type { RunCommand } from '../../domain/run-command.ts'
import { requestId } from '../../signing/request-mark.ts'
import type { Caller, Outcome, RequestInfo } from '../ledger.ts'
import type { Reader } from '../read/reader.ts'
import type { AnsweredEvent, CommandResponse } from '../responses/response-parts.ts'
import type { Stats } from '../stats.ts'
import type { RunAggregate } from './run-aggregate.ts'

/** One command on its way, with what earlier tries learned. */
export interface PendingCommand {
  readonly caller: Caller
  readonly runId: string
  readonly command: RunCommand
  readonly info: RequestInfo
  readonly requestId: string | undefined
  readonly contexts: Map<number, JsonObject>
  /** Events that were read for the decision, by revision. */
  readonly events: Map<number, AnsweredEvent>
  /** The large value that was stored for it, and what names it. */
  stored?: { readonly value: Json; readonly ref: ValueRef }
  /** The idempotency key came with another request before. */
  reusedKey?: boolean
}

/** A try: its outcome, or `again` where it was made on a state that the store has moved past. */
export interface Attempt {
  readonly settled: Promise<Outcome | 'again'>
  /** Refused, as far as the state in hand tells. */
  readonly refusedNow: boolean
  /** Nothing is decided yet: what comes after it in order has to wait. */
  readonly undecided?: boolean
}

/** Nothing was tried: the state in hand was not one to decide on. */
export const AGAIN: Attempt = { refusedNow: false, undecided: true, settled: Promise.resolve('again') }

export function pendingCommand(
  caller: Caller,
  runId: string,
  item: { command: RunCommand; info: RequestInfo },
): PendingCommand {
  const { command, info } = item
  const scope = { tenant: caller.tenant, run: runId, actor: caller.actor }
  const id = info.idempotency === undefined ? undefined : requestId(scope, info.idempotency.key)
  return { caller, runId, command, info, requestId: id, contexts: new Map(), events: new Map() }
}

export interface OutcomeDeps {
  readonly reader: Reader
  readonly stats: Stats
}

/** The answer of a command as its caller gets it, with what has to be read for it. */
export async function outcomeOf(
  { reader, stats }: OutcomeDeps,
  run: RunAggregate,
  answer: CommandResponse,
  of: { readonly revision: number; readonly replayed: boolean },
): Promise<Outcome> {
  if (answer.kind === 'body') {
    const { created, plan, signalAt, body } = answer
    const full = {
      ...body,
      ...(plan !== undefined && { plan: await reader.planDetails(run.stream, plan) }),
      ...(signalAt !== undefined && { payload: await reader.payloadAt(run.stream, signalAt) }),
    }
    return { ok: true, created, runId: run.runId, body: full, ...of }
  }
  stats.refused(answer.refusal.code)
  if (answer.restored === undefined) return { ok: false, refusal: answer.refusal, ...of }
  const { revision, body } = answer.restored
  const restored = { ...(await reader.envelopeAt(run.stream, revision)), ...body }
  const evidence = { ...answer.refusal.evidence, restored }
  return { ok: false, refusal: { ...answer.refusal, evidence }, ...of }
}
