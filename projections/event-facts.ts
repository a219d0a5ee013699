/**
 * @module The facts of one event that queries use: its header, and the members that bodies have in common. Pure, so that an index, an
 * export and a verifier of the export derive the same facts.
 */
import { AUDIT_FILTERS, type AuditFilterField, PART_FIELDS } from '../schemas/audit-fields.ts'
import type { EventQuery } from '../schemas/event-query.ts'
import { BODY_FACTS, type BodyFact, type EventType, factIn, type Rating } from '../schemas/event-type.ts'
import { declarationOf } from '../schemas/events.ts'
import type { Header } from '../schemas/header.ts'
import { isJsonObject, type Json, type JsonObject } from '../schemas/json.ts'
import { type Mark, marksOf } from '../schemas/marks.ts'
import { hasPart } from '../schemas/one-case.ts'
import type { Verdict } from '../schemas/verdict.ts'

export interface EventFacts extends Readonly<Partial<Record<BodyFact, string>>> {
  readonly type: string
  readonly time: string
  readonly actor: string
  readonly principal: string
  readonly kid: string
  readonly verdict?: Verdict
  /** Rules of findings, or codes of refusals. */
  readonly rules: readonly string[]
  /** Of an accepted handoff. */
  readonly marks: readonly Mark[]
}

/** Facts from a call's claim that its later events lack, because they name only the call. */
export interface CallFacts {
  readonly agent?: string
  readonly tool?: string
}

/** `call` holds the facts from the claim of the event's call; empty if the event names no call. */
export function eventFacts(header: Header, data: JsonObject, call: CallFacts = {}): EventFacts {
  const { type, time, actor, kid } = header
  const declared = declarationOf(type)
  const facts: { -readonly [F in keyof EventFacts]: EventFacts[F] } = {
    type,
    time,
    actor,
    kid,
    principal: header.principal ?? actor,
    rules: rulesOf(declared, data),
    marks: NO_MARKS,
  }
  if (call.agent !== undefined) facts.agent = call.agent
  if (call.tool !== undefined) facts.tool = call.tool
  for (const name of declared?.facts ?? BODY_FACTS) {
    const found = factIn(name, data)
    if (found !== undefined) facts[name] = found
  }
  const verdict = declared && ratingOf(declared, data).verdict
  if (verdict) facts.verdict = verdict
  if (verdict === 'accepted') facts.marks = marksOf(data)
  return facts
}

const NO_MARKS: readonly Mark[] = []

/** Rating of an event for reviewers: its verdict, whether the action succeeded, and how urgently a person should look. */
export function ratingOf({ rating }: Pick<EventType, 'rating'>, data: JsonObject): Rating {
  return typeof rating === 'function' ? rating(data) : rating
}

/** Id of the call whose claim holds further facts of an event. */
export function callOf(type: string, data: JsonObject): string | undefined {
  return declarationOf(type)?.changes.call === 'claimed' ? undefined : text(data.callId)
}

/** Whether an event matches the query, except for `run`, which its stream determines, and `text`, which `matchesText` checks. */
export function matchesFacts(query: EventQuery, facts: EventFacts & { readonly run?: string | undefined }): boolean {
  return AUDIT_FILTERS.every(({ name, field, compare }) => {
    const expected = query[name]
    if (expected === undefined || name === 'run' || compare === 'words') return true
    if (compare === 'any-part') return PART_FIELDS.some((each) => fits('part', facts[each], expected))
    return fits(compare, facts[field as keyof typeof facts], expected)
  })
}

function fits(
  compare: Exclude<AuditFilterField['compare'], 'words' | 'any-part'>,
  found: string | readonly string[] | undefined,
  expected: string | readonly string[],
): boolean {
  if (found === undefined) return false
  if (compare === '=') return found === expected
  if (compare === '>=') return found >= expected
  if (compare === '<') return found < expected
  if (compare === 'part') return [found].flat().some((text) => hasPart(text, String(expected)))
  return compare === 'in' ? expected.includes(String(found)) : found.includes(String(expected))
}

/** For a type unknown to this build, the rules of its findings. */
export function rulesOf(declared: EventType | undefined, data: JsonObject): readonly string[] {
  const rules = declared === undefined ? 'findings' : (declared.rules ?? [])
  if (rules === 'code') return [text(data.code) ?? '']
  if (rules !== 'findings') return rules
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
