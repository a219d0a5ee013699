/** @module Redacts a command before any decision on it, so that later stages know only the values that will be sealed. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { isJsonObject } from '../../../schemas/json.ts'
import type { RedactionInForce } from '../../../schemas/redaction.ts'
import { type Work, WorkExhausted } from '../json-schema/work.ts'
import { type Refusal, refusal } from '../refusal.ts'
import type { RunCommand } from '../run-command.ts'
import { Pauses, type Yielding } from '../yielding.ts'
import { COMMAND_MEMBERS, type Members, type ValueMember } from './command-members.ts'
import { compileRules, searches } from './compile-rules.ts'
import { placeFault } from './place-fault.ts'
import { type Blind, markerOf, TextTooLong, TooMuchLeftOut } from './redact-text.ts'
import {
  below,
  type Here,
  type RedactedPlace,
  type Redaction,
  redactMembers,
  redactValue,
  rootOf,
} from './redact-value.ts'
import { TextSteps } from './text-steps.ts'

/** Maximum steps for one body, at about 20 ns per step. */
export const REDACTION_STEPS_MAX = 40_000_000

export interface RedactionEnv {
  readonly blind: Blind
  readonly textOf: (value: Json) => string
}

export type RedactedCommand =
  /** The unchanged command if nothing was redacted. */
  | { readonly ok: true; readonly command: RunCommand; readonly leftOut: readonly RedactedPlace[] }
  | { readonly ok: false; readonly refusal: Refusal }

/** Members of internal commands, which hold no values of a caller. */
const OWN: Members = { values: [], names: [] }

/** Refuses if a rule finds something in a name or in a signed handoff, or if the search takes more steps than one body may. */
export function* redactCommand(
  command: RunCommand,
  declared: RedactionInForce,
  env: RedactionEnv,
): Yielding<RedactedCommand> {
  const redaction = redactionBy(declared, env)
  if ('refusal' in redaction) return { ok: false, refusal: redaction.refusal }
  const members = (COMMAND_MEMBERS as Readonly<Record<string, Members>>)[command.kind] ?? OWN
  const body = 'body' in command ? (command.body as unknown as JsonObject) : {}
  try {
    const fault = yield* nameFault(namesIn(command, body, members), redaction)
    if (fault !== undefined) return { ok: false, refusal: fault }
    const now = yield* redactBody(body, members.values, redaction)
    const { leftOut } = redaction
    if (now === body) return { ok: true, command, leftOut }
    if (typeof body.signature === 'string') return { ok: false, refusal: signedFault(leftOut) }
    return { ok: true, command: { ...command, body: now } as unknown as RunCommand, leftOut }
  } catch (error) {
    return { ok: false, refusal: tooMuch(error) }
  }
}

/** Redacts texts derived from earlier records, under the rules that are in force now. */
export function* redactRecorded(value: Json, declared: RedactionInForce, env: RedactionEnv): Yielding<Json> {
  const redaction = redactionBy(declared, env)
  if ('refusal' in redaction) return value
  const searching = redaction.rules.filter(searches)
  return yield* redactValue(value, { ...rootOf(redaction), towards: [], searching }, redaction)
}

function redactionBy(declared: RedactionInForce, env: RedactionEnv): Redaction | { readonly refusal: Refusal } {
  const compiled = compileRules(declared)
  if (!compiled.ok) return { refusal: patternFault(compiled) }
  const work: Work = { stepsLeft: REDACTION_STEPS_MAX }
  const names = new Set(declared.map(({ name }) => name))
  return { rules: compiled.rules, names, ...env, steps: new TextSteps(work, new Pauses()), leftOut: [] }
}

/** The refusal of a rule whose pattern is not accepted. */
function patternFault({ index, message }: { readonly index: number; readonly message: string }): Refusal {
  return policyFault(`/policy/redaction/${index}/pattern`, message)
}

/** The refusal of newly declared rules that cannot be used; undefined if they can. Rules recorded earlier may have places that match nothing. */
export function declaredFault(declared: RedactionInForce): Refusal | undefined {
  const compiled = compileRules(declared)
  if (!compiled.ok) return patternFault(compiled)
  const found = placeFault(declared)
  return found && policyFault(`/policy/redaction/${found.rule}/at/${found.place}`, found.message)
}

function policyFault(pointer: string, message: string): Refusal {
  return refusal('policy-invalid', message, { pointer, evidence: { errors: [{ pointer, message }] } })
}

function* redactBody(body: JsonObject, values: readonly ValueMember[], redaction: Redaction): Yielding<JsonObject> {
  let now = body
  for (const member of values) now = yield* redactMember(now, { member, depth: 0, at: [] }, redaction)
  return now
}

interface MemberPlace {
  readonly member: ValueMember
  readonly depth: number
  /** Path of the current member in the event. */
  readonly at: readonly string[]
}

function* redactMember(
  body: JsonObject,
  { member, depth, at }: MemberPlace,
  redaction: Redaction,
): Yielding<JsonObject> {
  const { path, as } = member
  const name = path[depth] as string
  const value = body[name]
  if (value === undefined) return body
  const place = [...at, name]
  if (depth === path.length - 1) {
    const now = yield* redactLeaf(value, { member, here: hereAt(as ?? place, redaction) }, redaction)
    return now === value ? body : { ...body, [name]: now }
  }
  if (path[depth + 1] === '*' && Array.isArray(value)) {
    let list: Json[] = value
    for (const [i, each] of value.entries()) {
      if (!isJsonObject(each)) continue
      const now = yield* redactMember(each, { member, depth: depth + 2, at: [...place, String(i)] }, redaction)
      if (now !== each) list = list.with(i, now)
    }
    return list === value ? body : { ...body, [name]: list }
  }
  if (!isJsonObject(value)) return body
  const now = yield* redactMember(value, { member, depth: depth + 1, at: place }, redaction)
  return now === value ? body : { ...body, [name]: now }
}

function hereAt(path: readonly string[], redaction: Redaction): Here {
  return path.reduce((here, token) => below(here, token, redaction), rootOf(redaction))
}

function* redactLeaf(
  value: Json,
  { member, here }: { readonly member: ValueMember; readonly here: Here },
  redaction: Redaction,
): Yielding<Json> {
  if (member.form === 'object' && isJsonObject(value)) return yield* redactMembers(value, here, redaction)
  const now = yield* redactValue(value, here, redaction)
  const { maxChars } = member
  if (now === value || maxChars === undefined || typeof now !== 'string' || now.length <= maxChars) return now
  // The redacted text is longer than the event allows, so the whole text is replaced.
  const rule = redaction.rules.find(({ name }) => name === redaction.leftOut.at(-1)?.rule)
  return rule === undefined ? now.slice(0, maxChars) : markerOf(rule, redaction.textOf(value), redaction.blind)
}

function* namesIn(command: RunCommand, body: JsonObject, { names }: Members): Generator<[string, Json]> {
  if (command.kind === 'signal') yield ['/name', command.name]
  if (command.kind === 'start') yield* namesOfStart(body)
  for (const name of names) {
    const value = name.split('/').reduce<Json | undefined>(memberOf, body)
    // Skips digests that a runtime computed: the value behind the digest is redacted at its own place.
    if (value !== undefined && !(typeof value === 'string' && value.startsWith('sha256:'))) yield [`/${name}`, value]
  }
}

/** Agents with a budget, and the texts of the policy except its rules of redaction, which name what they look for. */
function* namesOfStart({ budget, policy }: JsonObject): Generator<[string, Json]> {
  const agents = memberOf(budget, 'agents')
  if (isJsonObject(agents ?? null)) yield ['/budget/agents', Object.keys(agents as JsonObject)]
  if (!isJsonObject(policy ?? null)) return
  for (const [name, value] of Object.entries(policy as JsonObject))
    if (name !== 'redaction') yield [`/policy/${name}`, [...textsIn(value)]]
}

/** Names of members and texts, at any depth. Numbers in a policy are limits and no values. */
function* textsIn(value: Json): Generator<string> {
  if (typeof value === 'string') yield value
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield* Object.keys(value)
  for (const each of Object.values(value)) yield* textsIn(each as Json)
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  return isJsonObject(value ?? null) ? (value as JsonObject)[name] : undefined
}

function* nameFault(names: Iterable<[string, Json]>, redaction: Redaction): Yielding<Refusal | undefined> {
  const here = { ...rootOf(redaction), towards: [] }
  for (const [pointer, value] of names) {
    yield* redactValue(value, here, redaction)
    const found = redaction.leftOut.at(-1)
    if (found === undefined) continue
    return refusal(
      'redacted-name',
      `what the rule ${found.rule} leaves out is in a name, and names are never left out: use another one`,
      { pointer, evidence: { rule: found.rule } },
    )
  }
  return undefined
}

/** The signature would let anyone test guesses of the redacted value. */
function signedFault(leftOut: readonly RedactedPlace[]): Refusal {
  const { at: pointer, rule } = leftOut[0] ?? { at: '', rule: '' }
  return refusal(
    'redacted-signed',
    `a signed handoff holds what the rule ${rule} leaves out: leave it out, and sign what is left`,
    { pointer, evidence: { rule } },
  )
}

function tooMuch(error: unknown): Refusal {
  const isKnown = error instanceof WorkExhausted || error instanceof TextTooLong || error instanceof TooMuchLeftOut
  if (!isKnown) throw error
  return refusal(
    'redaction-too-large',
    'looking for what the policy leaves out takes more work than one request may: hand over less, in shorter texts, or where it is kept',
  )
}
