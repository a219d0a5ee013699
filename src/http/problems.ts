/** @module Refusals as RFC 9457 problems: their bodies, and when to retry. */
import type { ProblemCode } from '../../schemas/error-code.ts'
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Principal } from '../signing/tokens.ts'
import { STATUS } from './problem-codes.ts'
import { PROBLEM_TEXTS } from './problem-texts.ts'

/** Retry-After, in milliseconds, if a refusal names no better time. */
const RETRY_AFTER_DEFAULT_MS = 1_000

/** Like a `Refusal`, with the codes of the HTTP edge and the headers that belong to it. */
export interface Problem extends Omit<Refusal, 'code'> {
  readonly code: ProblemCode
  readonly headers?: Readonly<Record<string, string>>
}

export function problem(code: ProblemCode, detail: string, more: Omit<Problem, 'code' | 'detail'> = {}): Problem {
  return { code, detail, ...more }
}

export function statusOf({ code, evidence }: Problem): number {
  // Changing the precondition does not fix a signed envelope: the agent has to sign again.
  if (code === 'stale-parent' && evidence?.signed === true) return 409
  return STATUS[code]
}

/** Milliseconds until a retry makes sense, or the default for a status that requires one. */
export function retryAfterMs(refused: Problem): number | undefined {
  if (refused.retryAfterMs !== undefined) return refused.retryAfterMs
  const status = statusOf(refused)
  return status === 503 || status === 429 ? RETRY_AFTER_DEFAULT_MS : undefined
}

/** RFC 9457 section 3. `instance` is the path of the request. Evidence never overrides the standard members. */
export function problemBody(refused: Problem, instance: string): JsonObject {
  const { code, detail, pointer, evidence } = refused
  const waitMs = retryAfterMs(refused)
  return {
    ...evidence,
    type: `/problems/${code}`,
    title: PROBLEM_TEXTS[code].title,
    status: statusOf(refused),
    detail,
    instance,
    code,
    ...(pointer === undefined ? {} : { pointer }),
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
  }
}

/** A refusal of the ledger as a problem for this caller; a revision conflict includes the path of the events in between. */
export function problemOf(
  said: Refusal,
  { caller, runPath }: { readonly caller: Pick<Principal, 'withoutBodies'>; readonly runPath: string | undefined },
): Problem {
  const refused = caller.withoutBodies === true ? withoutBodies(said) : said
  const { evidence } = refused
  if (refused.code !== 'revision-conflict' || runPath === undefined) return refused
  const expected = evidence?.expected
  const from = typeof expected === 'number' ? expected + 1 : 0
  return { ...refused, evidence: { ...evidence, conflicting: `${runPath}/events?from=${from}` } }
}

/** For a token that may not read bodies: keeps the paths of contradictions and the digests of the restored context, but removes the values. */
function withoutBodies(refused: Refusal): Refusal {
  const { evidence } = refused
  if (evidence === undefined) return refused
  const { restored, findings, conflicts, ...rest } = evidence
  const told = {
    ...rest,
    ...(findings !== undefined && { findings: each(findings, ['rule', 'severity', 'path']) }),
    ...(conflicts !== undefined && { conflicts: each(conflicts, ['path']) }),
    ...(restored !== undefined && { restored: only(restored, ['step', 'revision', 'digest', 'contextDigest']) }),
  }
  return { ...refused, evidence: told }
}

function each(list: Json, names: readonly string[]): Json {
  return Array.isArray(list) ? list.map((member) => only(member, names)) : []
}

function only(value: Json, names: readonly string[]): Json {
  if (!isJsonObject(value)) return {}
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)))
}
