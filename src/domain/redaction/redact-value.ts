/** @module Redacts a JSON value: values at the places of rules and matches in texts are replaced, and unchanged parts stay the same objects. */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { pointerStep, type Token } from '../../../schemas/json-pointer.ts'
import type { Keep } from '../../../schemas/redaction.ts'
import type { Yielding } from '../yielding.ts'
import { type CompiledRule, searches } from './compile-rules.ts'
import {
  type Blind,
  isMarker,
  LEFT_OUT_MAX,
  markerOf,
  type RedactedText,
  searchText,
  TooMuchLeftOut,
} from './redact-text.ts'
import type { TextSteps } from './text-steps.ts'

/** One redacted value. */
export interface RedactedPlace {
  /** JSON Pointer into the recorded body. */
  readonly at: string
  readonly rule: string
  /** If set, a member of the object at `at` was redacted together with its name. */
  readonly member?: true
  /** The value that is encrypted in place of the marker, and the data subject it belongs to. */
  readonly kept?: { readonly marker: string; readonly value: Json; readonly keep: Keep }
}

/** The state of redacting one body. */
export interface Redaction {
  readonly rules: readonly CompiledRule[]
  readonly names: ReadonlySet<string>
  readonly blind: Blind
  /** Returns the canonical text of a value. */
  readonly textOf: (value: Json) => string
  readonly steps: TextSteps
  readonly leftOut: RedactedPlace[]
}

const VALUE_STEPS = 1

/** How much of a rule's place the path to the current value has matched. */
interface Towards {
  readonly rule: CompiledRule
  readonly place: readonly string[]
  readonly next: number
}

/** The rules that apply at the current place of the walk. */
export interface Here {
  readonly pointer: string
  readonly towards: readonly Towards[]
  /** Rules that search texts at this place and below. */
  readonly searching: readonly CompiledRule[]
  /** The rule that redacts this place as a whole, because its place is this one or an ancestor. */
  readonly covered: CompiledRule | undefined
}

/** The rules at the root of a body. */
export function rootOf({ rules }: Pick<Redaction, 'rules'>): Here {
  const towards = rules.flatMap((rule) => (rule.places ?? []).flatMap((place) => withEmpty({ rule, place, next: 0 })))
  const searching = rules.filter((rule) => rule.places === undefined && searches(rule))
  return { pointer: '', towards, searching, covered: undefined }
}

/** The states with `**` also matched to an empty path. */
function withEmpty(at: Towards): Towards[] {
  return at.place[at.next] === '**' ? [at, ...withEmpty({ ...at, next: at.next + 1 })] : [at]
}

export function below(here: Here, token: Token, redaction: Redaction): Here {
  const pointer = here.pointer + pointerStep(token)
  if (here.towards.length === 0) return { ...here, pointer }
  redaction.steps.spend(here.towards.length)
  const towards: Towards[] = []
  let { covered, searching } = here
  for (const at of stepped(here.towards, String(token))) {
    if (at.next < at.place.length) towards.push(at)
    else if (!searches(at.rule)) covered = ofBoth(covered, at.rule)
    else if (!searching.includes(at.rule)) searching = [...searching, at.rule].sort((a, b) => a.order - b.order)
  }
  return { pointer, towards, searching, covered }
}

/** If two rules cover a place, the first one counts; a rule that drops takes precedence over one that keeps. */
function ofBoth(first: CompiledRule | undefined, second: CompiledRule): CompiledRule {
  return first === undefined || (first.keep !== undefined && second.keep === undefined) ? second : first
}

/** The same place with only the rules that drop: a kept value is encrypted without the parts these rules match. */
function dropping(here: Here): Here {
  return {
    pointer: here.pointer,
    towards: here.towards.filter(({ rule }) => rule.keep === undefined),
    searching: here.searching.filter(({ keep }) => keep === undefined),
    covered: undefined,
  }
}

/** The states after one more token, each once, even if several paths lead to it. */
function stepped(towards: readonly Towards[], token: string): Towards[] {
  const seen = new Map<readonly string[], Set<number>>()
  const found: Towards[] = []
  for (const at of towards) {
    const segment = at.place[at.next]
    const next = segment === '**' ? at.next : segment === '*' || segment === token ? at.next + 1 : undefined
    if (next === undefined) continue
    const known = seen.get(at.place) ?? new Set<number>()
    seen.set(at.place, known)
    for (const each of withEmpty({ ...at, next })) {
      if (known.has(each.next)) continue
      known.add(each.next)
      found.push(each)
    }
  }
  return found
}

/** Returns the value with its redacted parts replaced. Throws `WorkExhausted`, `TextTooLong` and `TooMuchLeftOut`. */
export function* redactValue(value: Json, here: Here, redaction: Redaction): Yielding<Json> {
  if (here.covered !== undefined) return yield* wholly(value, here, { rule: here.covered, redaction })
  if (here.towards.length === 0 && here.searching.length === 0) return value
  redaction.steps.spend(VALUE_STEPS)
  if (typeof value === 'string') return yield* textAt(value, here, redaction)
  if (typeof value === 'number') return yield* numberAt(value, here, redaction)
  if (typeof value !== 'object' || value === null) return value
  return isJsonObject(value) ? yield* redactMembers(value, here, redaction) : yield* inList(value, here, redaction)
}

function* wholly(value: Json, here: Here, of: { rule: CompiledRule; redaction: Redaction }): Yielding<Json> {
  const { rule, redaction } = of
  if (typeof value === 'string' && isMarker(value, redaction.names)) return value
  if (rule.keep !== undefined) {
    const rest = yield* redactValue(value, dropping(here), redaction)
    return kept(rest, { at: here.pointer, rule, text: redaction.textOf(rest) }, redaction)
  }
  note(redaction, { at: here.pointer, rule: rule.name })
  return markerOf(rule, rule.comparable ? redaction.textOf(value) : '', redaction.blind)
}

interface KeptAt {
  readonly at: string
  readonly rule: CompiledRule
  readonly text: string
  readonly member?: true
}

/** Records the value to be encrypted and returns its marker. */
function kept(value: Json, { at, rule, text, member }: KeptAt, redaction: Redaction): string {
  const marker = markerOf(rule, text, redaction.blind)
  const { keep } = rule
  const place = { at, rule: rule.name, ...(member && { member }) }
  note(redaction, keep === undefined ? place : { ...place, kept: { marker, value, keep } })
  return marker
}

const keeps = ({ keep }: CompiledRule): boolean => keep !== undefined

/** Searches a text by the rules that apply at this place. */
function found(
  text: string,
  { searching: rules }: Here,
  { blind, steps }: Redaction,
): Yielding<RedactedText | undefined> {
  return searchText(text, { rules, blind, steps })
}

function* textAt(text: string, here: Here, redaction: Redaction): Yielding<string> {
  if (isMarker(text, redaction.names)) return text
  const redacted = yield* found(text, here, redaction)
  const keeping = redacted?.by.find(keeps)
  if (keeping !== undefined) {
    const rest = yield* textAt(text, dropping(here), redaction)
    return kept(rest, { at: here.pointer, rule: keeping, text: rest }, redaction)
  }
  for (const rule of redacted?.by ?? []) note(redaction, { at: here.pointer, rule: rule.name })
  return redacted?.text ?? text
}

/** A number is searched in its decimal digits and redacted as a whole. */
function* numberAt(value: number, here: Here, redaction: Redaction): Yielding<Json> {
  const by = (yield* found(String(value), here, redaction))?.by ?? []
  const rule = by.find((each) => !keeps(each)) ?? by[0]
  if (rule === undefined) return value
  if (keeps(rule)) return kept(value, { at: here.pointer, rule, text: String(value) }, redaction)
  note(redaction, { at: here.pointer, rule: rule.name })
  return markerOf(rule, String(value), redaction.blind)
}

function* inList(list: readonly Json[], here: Here, redaction: Redaction): Yielding<Json> {
  let copy: Json[] | undefined
  for (const [i, value] of list.entries()) {
    if (redaction.steps.due()) yield
    const now = yield* redactValue(value, below(here, i, redaction), redaction)
    if (now === value) continue
    copy ??= [...list]
    copy[i] = now
  }
  return copy ?? list
}

/** Redacts the members of an object, which itself stays an object even if a rule covers it. */
export function* redactMembers(object: JsonObject, here: Here, redaction: Redaction): Yielding<JsonObject> {
  const members: [string, Json][] = []
  let isSame = true
  for (const [name, value] of Object.entries(object)) {
    if (redaction.steps.due()) yield
    const named = yield* nameAt(name, here, redaction)
    if (named === undefined) {
      isSame = false
      continue
    }
    const { covered } = here
    const at = below({ ...here, covered: undefined }, named, redaction)
    const now = yield* redactValue(value, covered === undefined ? at : { ...at, covered }, redaction)
    isSame &&= named === name && now === value
    members.push([named, now])
  }
  return isSame ? object : Object.fromEntries(members)
}

/** The name after redaction; undefined if the member is removed with its name, because two redacted names could not be told apart. */
function* nameAt(name: string, here: Here, redaction: Redaction): Yielding<string | undefined> {
  if (isMarker(name, redaction.names)) return name
  const redacted = yield* found(name, here, redaction)
  const [first] = redacted?.by ?? []
  if (redacted === undefined || first === undefined) return name
  if (redacted.by.every(keeps))
    return kept(name, { at: here.pointer, rule: first, text: name, member: true }, redaction)
  note(redaction, { at: here.pointer, rule: first.name, member: true })
  return redacted.by.every(({ comparable }) => comparable) ? redacted.text : undefined
}

function note({ leftOut }: Redaction, one: RedactedPlace): void {
  if (leftOut.length >= LEFT_OUT_MAX) throw new TooMuchLeftOut()
  leftOut.push(one)
}
