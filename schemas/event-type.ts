/**
 * @module What is declared of an event type: its body, its rating, what can be asked of it, and what it changes. One file a type lies in
 * `schemas/events/`; exports, the auditors' index, the dashboard and the command line read the declarations and know no type by its name.
 */
import type { z } from 'zod'
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import type { RunStatus } from './run-status.ts'
import type { Verdict } from './verdict.ts'

export const FAMILIES = ['run', 'handoff', 'call', 'compensation', 'budget', 'fork', 'ledger', 'access'] as const
export type Family = (typeof FAMILIES)[number]

export interface Rating {
  readonly verdict: Verdict | null
  /** Whether what was attempted came about. Without a default: nothing is a success because nobody looked. */
  readonly outcome: 'success' | 'failure'
  /** How soon somebody should look: `medium` is a gate or a tool that did its work, `high` an effect that may be wrong or twice. */
  readonly severity: 'informational' | 'low' | 'medium' | 'high'
}

/**
 * Members of bodies that say a fact, in the order in which they are looked at: the member's own text, or within an object of that name
 * the member named as the fact.
 */
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

/** What bodies have in common, and auditors filter by. */
export type BodyFact = keyof typeof FACT_MEMBERS
export const BODY_FACTS = Object.keys(FACT_MEMBERS) as readonly BodyFact[]

/** The facts that a body with these members can say. */
type FactOf<Member> = {
  [F in BodyFact]: Extract<(typeof FACT_MEMBERS)[F][number], Member> extends never ? never : F
}[BodyFact]

/** What is another thing from this event on. */
export interface Changes {
  /** Status of the run. */
  readonly run?: RunStatus
  /** State of the call that the body names. */
  readonly call?: 'claimed' | 'renewed' | 'settled' | 'in-doubt'
  /** State of the reservation that the body names. */
  readonly reservation?: 'open' | 'settled' | 'released' | 'expired'
  /** What came of undoing the call that the body says it compensates. */
  readonly undoing?: 'succeeded' | 'failed' | 'in-doubt'
  /** The bill, or what later events are charged for. */
  readonly bill?: true
}

export interface Announced<Member = string> {
  readonly as: `${string}.${string}`
  /** None that holds what a caller passed: whoever is told may not be allowed to read bodies. */
  readonly members: readonly Member[]
}

export type LargeMember = 'args' | 'result' | 'input' | 'output'

export interface EventType<Schema extends z.ZodObject = z.ZodObject> {
  /** The body. */
  readonly schema: Schema
  readonly family: Family
  /** The type in words, for lists: no payload. */
  readonly label: string
  /** What was done to the ledger's resources, as OCSF has it. */
  readonly activity: 'create' | 'read' | 'update'
  /** A function where the body decides; it is total over any JSON object, as an index reads bodies that nobody has verified. */
  readonly rating: Rating | ((body: JsonObject) => Rating)
  readonly facts: readonly BodyFact[]
  /** Rules of findings in the body, the body's refusal code, or always the same ones. */
  readonly rules?: 'findings' | 'code' | readonly string[]
  /** Stands in the report of a bundle even where nothing failed. */
  readonly notable?: true
  /** Written as a matter of course: lists for people leave it out until they ask for it. */
  readonly routine?: true
  /** Of the ledger as a service, in its own log: auditors of every tenant are told of it (LOG-35). */
  readonly ofService?: true
  /** The member of the body that may be large: it is then stored beside the events, and named by the member `<large>Ref`. */
  readonly large?: LargeMember
  /** An outside system may be told of it: under this name, with these members of the body and no others. */
  readonly announced?: Announced
  readonly changes: Changes
}

interface Declared<Schema extends z.ZodObject> extends EventType<Schema> {
  /** All that the body can say: `test/schemas/events.test.ts` finds one that is left out. */
  readonly facts: readonly FactOf<keyof Schema['shape']>[]
  readonly announced?: Announced<keyof Schema['shape'] & string>
}

export function eventType<Schema extends z.ZodObject>(declared: Declared<Schema>): EventType<Schema> {
  return declared
}

/** A saying for each value of a member; a body with another value does not fit its schema, and what it records did not come about. */
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

/** A fact of a body; undefined where it says none. */
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
