/**
 * @module Refusals that a run's code may catch and handle, and the requests they answer: the ledger records them, and a resume or a replay
 * finds them again (RUN-191).
 */
import type { RefusalCode } from './error-code.ts'
import type { Json, JsonObject } from './json.ts'

/**
 * Refusals that are returned to the run's code. All others instruct the runtime (to wait or to leave), are recorded in an event of their
 * own type, or are another caller's fault.
 */
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
/** Members of every problem over HTTP, which carry no specific evidence. */
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
 * Identifies a request by its place in the code. Undefined if no code would repeat it from that place: it has no run fence, or is not a
 * request of code. Members that differ between two executions are left out: the run fence, the enclosing call, and tokens, which may be
 * counted differently.
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

/** Maximum length of a list in the evidence of a refusal's event. */
export const REFUSED_LIST_MAX = 32

/** The part of a refusal that its event can hold. The code receives the same part live and from the record. */
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
