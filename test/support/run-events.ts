/** @module Events of a run for domain tests: builders that show only what matters. */
import type { EventBody } from '../../schemas/events.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { resolvePolicy } from '../../schemas/resolve-policy.ts'
import type { Draft } from '../../src/domain/decision.ts'
import { at, digestOf, id } from './decider.ts'

export function started(more: Partial<EventBody<'RunStarted'>> = {}): Draft {
  const data = {
    v: 1 as const,
    name: 'test',
    tags: [],
    policy: resolvePolicy(),
    requestDigest: digestOf({ name: 'test' }),
    ...more,
  }
  return { type: 'RunStarted', data }
}

/** A claim of call `n`: tool `t`, key `k<n>`, no arguments, a lease of 60 s from T0. */
export function claimed(n: number, more: Partial<EventBody<'ToolCallClaimed'>> = {}): Draft {
  const data: EventBody<'ToolCallClaimed'> = {
    v: 1,
    callId: id(n),
    fence: 1,
    key: `k${n}`,
    tool: 't',
    phase: 'forward',
    args: {},
    argsDigest: digestOf({}),
    attempt: 1,
    generation: 1,
    leaseMs: 60_000,
    leaseUntil: at(60_000),
    onUnknown: 'in-doubt',
    ...more,
  }
  return { type: 'ToolCallClaimed', data }
}

export const succeeded = (n: number): Draft => ({
  type: 'ToolCallSucceeded',
  data: { v: 1, callId: id(n), fence: 1, result: n },
})

export const failed = (n: number): Draft => ({
  type: 'ToolCallFailed',
  data: { v: 1, callId: id(n), fence: 1, error: { message: 'x' } },
})

export const inDoubt = (n: number): Draft => ({
  type: 'ToolCallInDoubt',
  data: { v: 1, callId: id(n), fence: 1, cause: 'outcome-unknown' },
})

/** Call `n`, claimed and succeeded. */
export const called = (n: number, more: Partial<EventBody<'ToolCallClaimed'>> = {}): Draft[] => [
  claimed(n, more),
  succeeded(n),
]

export const rollingBack = (scope?: string): Draft => ({
  type: 'CompensationStarted',
  data: { v: 1, compensationId: id(90), reason: 'x', plan: [], ...(scope === undefined ? {} : { scope }) },
})

/** A claim of call `n` that undoes call `of`. */
export const undoing = (n: number, of: number, more: Partial<EventBody<'ToolCallClaimed'>> = {}): Draft =>
  claimed(n, { phase: 'compensation', key: id(of), compensates: id(of), ...more })

export const undone = (n: number, of: number): Draft => ({
  type: 'CompensationSucceeded',
  data: { v: 1, callId: id(n), fence: 1, compensates: id(of) },
})

export function reserved(n: number, tokens: number, more: Partial<EventBody<'BudgetReserved'>> = {}): Draft {
  return {
    type: 'BudgetReserved',
    data: { v: 1, reservationId: id(n), agent: 'a', tokens, cost: '0', deadline: at(60_000), ...more },
  }
}

export const used = (tokens: number, more: Partial<EventBody<'UsageRecorded'>> = {}): Draft => ({
  type: 'UsageRecorded',
  data: { v: 1, agent: 'a', usage: { tokens }, ...more },
})

/** As decided, before its snapshot is added to it. */
export const accepted = (
  step: number,
  payload: JsonObject,
  more: Partial<EventBody<'EnvelopeAccepted'>> = {},
): Draft => ({
  type: 'EnvelopeAccepted',
  data: {
    v: 2,
    step,
    agent: 'ann',
    mode: 'replace',
    payload,
    parent: digestOf('parent'),
    context: digestOf(payload),
    confidence: 1,
    ...more,
  },
})

export const ended = (type: 'RunCompleted' | 'RunFailed'): Draft =>
  type === 'RunCompleted' ? { type, data: { v: 1 } } : { type, data: { v: 1, error: { message: 'x' }, openCalls: [] } }

export const resumed = (fence: number): Draft => ({ type: 'RunResumed', data: { v: 1, fence } })
