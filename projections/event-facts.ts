/**
 * @module What can be asked of one event: its header, and the members that bodies have in common. Pure, so that an index, an export and
 * whoever checks an export all say the same of the same event.
 */
import type { EventQuery, Verdict } from '../schemas/event-query.ts'
import type { Header } from '../schemas/header.ts'
import { isJsonObject, type Json, type JsonObject } from '../schemas/json.ts'

export interface EventFacts {
  readonly type: string
  readonly time: string
  readonly actor: string
  readonly principal: string
  readonly kid: string
  readonly agent?: string
  readonly tool?: string
  readonly call?: string
  readonly reservation?: string
  /** The call that this one undoes. */
  readonly compensates?: string
  readonly provider?: string
  readonly model?: string
  readonly verdict?: Verdict
  /** Rules of findings, codes of refusals. */
  readonly rules: readonly string[]
}

/** What a call's claim says for its later events, which name the call alone. */
export interface CallFacts {
  readonly agent?: string
  readonly tool?: string
}

const OF_TYPE: Readonly<Record<string, Verdict>> = {
  EnvelopeAccepted: 'accepted',
  EnvelopeRejected: 'rejected',
  BranchOffered: 'accepted',
  RunRewound: 'rewound',
  RequestRefused: 'refused',
  BudgetExceeded: 'refused',
  ToolCallClaimed: 'claimed',
  ToolCallSucceeded: 'succeeded',
  ToolCallFailed: 'failed',
  ToolCallInDoubt: 'in-doubt',
  CompensationSucceeded: 'compensated',
  CompensationFailed: 'compensation-failed',
  CompensationInDoubt: 'in-doubt',
  ReservationExpired: 'expired',
  RunCompleted: 'completed',
  RunFailed: 'run-failed',
  RunCompensated: 'run-compensated',
}

/** `call` is what the claim of the event's call said; undefined where the event names none. */
export function eventFacts(header: Header, data: JsonObject, call: CallFacts = {}): EventFacts {
  const { type, time, actor, kid } = header
  const usage = memberObject(data.usage)
  const verdict = verdictOf(type, data)
  const named = {
    agent: text(data.agent) ?? call.agent,
    tool: text(data.tool) ?? call.tool,
    call: text(data.callId),
    reservation: text(data.reservationId),
    compensates: text(data.compensates),
    provider: text(data.provider) ?? text(usage.provider),
    model: text(data.model) ?? text(usage.model),
  }
  return {
    ...{ type, time, actor, kid },
    principal: header.principal ?? actor,
    ...present(named),
    ...(verdict !== undefined && { verdict }),
    rules: rulesOf(type, data),
  }
}

/** Id of the call whose claim an event leans on. */
export function callOf(type: string, data: JsonObject): string | undefined {
  return type === 'ToolCallClaimed' ? undefined : text(data.callId)
}

/** Whether an event answers the query, but for `run`, which its stream says, and `text`, which `matchesText` judges. */
export function matchesFacts(query: EventQuery, facts: EventFacts): boolean {
  const { types, since, until, rule, run: _, text: __, ...equal } = query
  if (types !== undefined && !types.includes(facts.type)) return false
  if (since !== undefined && facts.time < since) return false
  if (until !== undefined && facts.time >= until) return false
  if (rule !== undefined && !facts.rules.includes(rule)) return false
  return Object.entries(equal).every(
    ([name, value]) => value === undefined || facts[name as keyof typeof equal] === value,
  )
}

function verdictOf(type: string, data: JsonObject): Verdict | undefined {
  if (type === 'UsageRecorded') return data.overshoot === undefined ? undefined : 'overshoot'
  if (type === 'BranchReceived') return data.status === 'refused' || data.status === 'failed' ? data.status : undefined
  if (type !== 'ToolCallResolved') return Object.hasOwn(OF_TYPE, type) ? OF_TYPE[type] : undefined
  const { outcome } = data
  return outcome === 'executed' || outcome === 'not-executed' || outcome === 'compensated' ? outcome : undefined
}

function rulesOf(type: string, data: JsonObject): readonly string[] {
  if (type === 'BudgetExceeded') return ['budget-exceeded']
  if (type === 'RequestRefused') return [text(data.code) ?? '']
  const { findings } = data
  if (!Array.isArray(findings)) return []
  return [...new Set(findings.flatMap((finding: Json) => text(memberObject(finding).rule) ?? []))]
}

function memberObject(value: Json | undefined): JsonObject {
  return value !== undefined && isJsonObject(value) ? value : {}
}

function text(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function present<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never
}
