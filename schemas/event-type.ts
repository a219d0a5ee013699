/**
 * @module Declaration of an event type: its body, its rating, its filters, and the state it changes. `schemas/events/` has one file per
 * type; exports, the auditors' index, the dashboard and the command line read the declarations and refer to no type by name.
 */
import type { z } from 'zod'
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import type { RunStatus } from './run-status.ts'
import type { Verdict } from './verdict.ts'

export const FAMILIES = ['run', 'handoff', 'call', 'compensation', 'budget', 'fork', 'ledger', 'access'] as const
export type Family = (typeof FAMILIES)[number]

export interface Rating {
  readonly verdict: Verdict | null
  /** Whether the attempted action succeeded. There is no default, so that no type counts as a success by omission. */
  readonly outcome: 'success' | 'failure'
  /** How urgently a person should look: `medium` is a gate or a tool that did its work, `high` an effect that may be wrong or duplicated. */
  readonly severity: 'informational' | 'low' | 'medium' | 'high'
}

/** Members of bodies that hold a fact, in lookup order: the member's own text, or, if the member is an object, its member with the name of the fact. */
const FACT_MEMBERS = {
  agent: ['agent'],
  tool: ['tool'],
  call: ['callId'],
  approval: ['approvalId'],
  reservation: ['reservationId'],
  compensates: ['compensates'],
  provider: ['provider', 'usage'],
  model: ['model', 'usage'],
} as const

/** Facts that bodies have in common, by which auditors filter. */
export type BodyFact = keyof typeof FACT_MEMBERS
export const BODY_FACTS = Object.keys(FACT_MEMBERS) as readonly BodyFact[]

/** The facts that a body with these members can contain. */
type FactOf<Member> = {
  [F in BodyFact]: Extract<(typeof FACT_MEMBERS)[F][number], Member> extends never ? never : F
}[BodyFact]

/** State that this event changes. */
export interface Changes {
  /** Status of the run. */
  readonly run?: RunStatus
  /** State of the call that the body names. */
  readonly call?: 'claimed' | 'renewed' | 'settled' | 'in-doubt'
  /** State of the reservation that the body names. */
  readonly reservation?: 'open' | 'settled' | 'released' | 'expired'
  /** Outcome of the compensation of the call that the body names in `compensates`. */
  readonly undoing?: 'succeeded' | 'failed' | 'in-doubt'
  /** Changes the bill, or what later events are charged for. */
  readonly bill?: true
}

export interface Announced<Member = string> {
  readonly as: `${string}.${string}`
  /** Members must not hold a caller's data, because the recipient may not be allowed to read bodies. */
  readonly members: readonly Member[]
}

export type LargeMember = 'args' | 'result' | 'input' | 'output'

export interface EventType<Schema extends z.ZodObject = z.ZodObject> {
  /** Schema of the body. */
  readonly schema: Schema
  readonly family: Family
  /** Name of the type for lists, without payload. */
  readonly label: string
  /** Action on the ledger's resources, in the terms of OCSF. */
  readonly activity: 'create' | 'read' | 'update'
  /** A function if the rating depends on the body. It must handle any JSON object, because an index reads unverified bodies. */
  readonly rating: Rating | ((body: JsonObject) => Rating)
  readonly facts: readonly BodyFact[]
  /** Rules of the findings in the body, the body's refusal code, or a fixed list. */
  readonly rules?: 'findings' | 'code' | readonly string[]
  /** Included in the report of a bundle even if nothing failed. */
  readonly notable?: true
  /** Written routinely; lists for people omit the type unless asked for it. */
  readonly routine?: true
  /** An event of the ledger as a service, in the ledger's own log; auditors of every tenant are notified of it (LOG-35). */
  readonly ofService?: true
  /** The member of the body that may be large: the value is then stored separately, and the member `<large>Ref` names it. */
  readonly large?: LargeMember
  /** The event may be reported to outside systems under this name, with only these members of the body. */
  readonly announced?: Announced
  readonly changes: Changes
}

interface Declared<Schema extends z.ZodObject> extends EventType<Schema> {
  /** All facts that the body can contain; `test/schemas/events.test.ts` detects an omitted one. */
  readonly facts: readonly FactOf<keyof Schema['shape']>[]
  readonly announced?: Announced<keyof Schema['shape'] & string>
}

export function eventType<Schema extends z.ZodObject>(declared: Declared<Schema>): EventType<Schema> {
  return declared
}

/** Defines a rating for each value of a member. A body with another value does not fit its schema and is rated as a failure. */
export function ratedBy<Schema extends z.ZodObject, Member extends keyof z.infer<Schema> & string>(
  _schema: Schema,
  member: Member,
  ratings: Readonly<Record<z.infer<Schema>[Member] & string, Rating>>,
): (body: JsonObject) => Rating {
  const known: Readonly<Record<string, Rating>> = ratings
  const fallback: Rating = { verdict: null, outcome: 'failure', severity: 'medium' }
  return ({ [member]: value }) =>
    typeof value === 'string' && Object.hasOwn(known, value) ? (known[value] ?? fallback) : fallback
}

/** A fact of a body; undefined if the body does not contain it. */
export function factIn(fact: BodyFact, body: JsonObject): string | undefined {
  for (const name of FACT_MEMBERS[fact]) {
    const value = body[name]
    const found = isObject(value) ? value[fact] : value
    if (typeof found === 'string') return found
  }
  return undefined
}

function isObject(value: Json | undefined): value is JsonObject {
  return value !== undefined && isJsonObject(value)
}
