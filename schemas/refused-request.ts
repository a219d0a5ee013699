/** @module A refusal that the code of a run may catch and go on from, and the request that it answered: recorded by the ledger, found again by a resume and a replay (RUN-191). */
import type { RefusalCode } from './error-code.ts'
import type { Json, JsonObject } from './json.ts'

/** Refusals that answer the code itself. All others are an order to the runtime (wait, leave), lie on record in an event of their own, or are another caller's fault. */
export const ANSWERS_TO_CODE: ReadonlySet<string> = new Set<RefusalCode>([
  'approvals-full',
  'context-too-large',
  'currency-mismatch',
  'fork-exists',
  'fork-open',
  'manifest-invalid',
  'manifest-mismatch',
  'nothing-to-roll-back',
  'recursive-call',
  'redacted-name',
  'redaction-too-large',
  'schema-invalid',
  'signature-invalid',
  'stale-parent',
  'unknown-step',
  'waits-full',
])

const DETAIL_MAX_CHARS = 1024
/** Of every problem over HTTP: they say nothing of their own. */
const STANDARD: ReadonlySet<string> = new Set([
  'code',
  'detail',
  'instance',
  'pointer',
  'retryAfterMs',
  'status',
  'title',
  'type',
])

interface Requested {
  readonly kind: string
  readonly body?: object
}

/**
 * The request at its place in the code. Undefined where nobody would ask for it again by its place: it names no owner of the run, or is no request of code.
 * What differs from life to life is left out: the owner's fence, the call around it, tokens by another counter.
 */
export function requestMark({ kind, body = {} }: Requested): JsonObject | undefined {
  const { runFence, parentCall: _, tokens: __, ...rest } = body as JsonObject
  if (kind === 'manifest') return { kind, ...rest }
  if (runFence === undefined) return undefined
  if (kind === 'claim') {
    const { phase = 'forward', key } = rest
    return key === undefined || phase === 'compensation' ? undefined : { kind, phase, key }
  }
  return kind === 'wait' || kind === 'rollback' || kind === 'envelope' || kind === 'fork'
    ? { kind, ...rest }
    : undefined
}

/** Members of a list that the event of a refusal has room for. */
export const REFUSED_LIST_MAX = 32

/** What is told of it, live as from the record: what its event has room for. */
export function toldRefusal(detail: string, evidence: { readonly [name: string]: Json } = {}) {
  const told = Object.entries(evidence).filter(
    ([name, value]) =>
      !STANDARD.has(name) &&
      (value === null ||
        isPlain(value) ||
        (Array.isArray(value) && value.length <= REFUSED_LIST_MAX && value.every(isPlain))),
  )
  return { detail: detail.slice(0, DETAIL_MAX_CHARS), evidence: Object.fromEntries(told) as JsonObject }
}

const isPlain = (value: Json): boolean => typeof value === 'string' || typeof value === 'number'
