/** @module A JSON value under the rules: what lies at their places and what they find in texts is left out, all else stays the same object. */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { pointerStep, type Token } from '../../../schemas/json-pointer.ts'
import { spend, type Work } from '../json-schema/work.ts'
import type { Paced, Pauses } from '../paced.ts'
import { type CompiledRule, searches } from './compile-rules.ts'
import { type Blind, isMarker, markerOf, searchText } from './redact-text.ts'

/** One value that was left out. */
export interface RedactedPlace {
  /** JSON Pointer into the body as it is recorded. */
  readonly at: string
  readonly rule: string
  /** A member of the object at `at`, with its name. */
  readonly member?: true
}

/** One body on its way through the rules. */
export interface Redaction {
  readonly rules: readonly CompiledRule[]
  readonly names: ReadonlySet<string>
  readonly blind: Blind
  /** Canonical text of a value. */
  readonly textOf: (value: Json) => string
  readonly work: Work
  readonly pauses: Pauses
  readonly leftOut: RedactedPlace[]
}

/** Fewer than the pointers of a body that is as large as bodies may be. */
const LEFT_OUT_MAX = 10_000

export class TooMuchLeftOut extends Error {}

/** How far a place of a rule leads to where the walk is. */
interface Towards {
  readonly rule: CompiledRule
  readonly place: readonly string[]
  readonly next: number
}

/** What holds at one place of the walk. */
export interface Here {
  readonly pointer: string
  readonly towards: readonly Towards[]
  /** Rules that look into texts from here on down. */
  readonly searching: readonly CompiledRule[]
  /** The rule whose place this is, or lies below. */
  readonly covered: CompiledRule | undefined
}

/** Of the whole body. */
export function rootOf({ rules }: Pick<Redaction, 'rules'>): Here {
  const towards = rules.flatMap((rule) => (rule.places ?? []).flatMap((place) => withEmpty({ rule, place, next: 0 })))
  const searching = rules.filter((rule) => rule.places === undefined && searches(rule))
  return { pointer: '', towards, searching, covered: undefined }
}

/** `**` may stand for nothing. */
function withEmpty(at: Towards): Towards[] {
  return at.place[at.next] === '**' ? [at, ...withEmpty({ ...at, next: at.next + 1 })] : [at]
}

export function below(here: Here, token: Token, redaction: Redaction): Here {
  const pointer = here.pointer + pointerStep(token)
  if (here.towards.length === 0) return { ...here, pointer }
  spend(redaction.work, here.towards.length)
  const towards: Towards[] = []
  let { covered, searching } = here
  for (const at of stepped(here.towards, String(token))) {
    if (at.next < at.place.length) towards.push(at)
    else if (!searches(at.rule)) covered ??= at.rule
    else if (!searching.includes(at.rule)) searching = [...searching, at.rule].sort((a, b) => a.order - b.order)
  }
  return { pointer, towards, searching, covered }
}

/** Each place once, however many ways lead to it. */
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

/** The value without what is left out of it. Throws `WorkExhausted`, `TextTooLong` and `TooMuchLeftOut`. */
export function* redactValue(value: Json, here: Here, redaction: Redaction): Paced<Json> {
  if (here.covered !== undefined) return wholly(value, here, { rule: here.covered, redaction })
  if (here.towards.length === 0 && here.searching.length === 0) return value
  spend(redaction.work, 1)
  redaction.pauses.count(1)
  if (typeof value === 'string') return textAt(value, here, redaction)
  if (typeof value === 'number') return numberAt(value, here, redaction)
  if (typeof value !== 'object' || value === null) return value
  return isJsonObject(value) ? yield* redactMembers(value, here, redaction) : yield* inList(value, here, redaction)
}

function wholly(value: Json, { pointer }: Here, of: { rule: CompiledRule; redaction: Redaction }): Json {
  const { rule, redaction } = of
  if (typeof value === 'string' && isMarker(value, redaction.names)) return value
  note(redaction, { at: pointer, rule: rule.name })
  return markerOf(rule, redaction.textOf(value), redaction.blind)
}

function textAt(text: string, { pointer, searching }: Here, redaction: Redaction): string {
  const { names, blind, work } = redaction
  if (isMarker(text, names)) return text
  const before = work.stepsLeft
  const found = searchText(text, { rules: searching, blind, work })
  redaction.pauses.count((before - work.stepsLeft) / 4)
  for (const rule of found?.by ?? []) note(redaction, { at: pointer, rule: rule.name })
  return found?.text ?? text
}

/** A number is its digits: it is left out whole. */
function numberAt(value: number, { pointer, searching }: Here, redaction: Redaction): Json {
  const { blind, work } = redaction
  const found = searchText(String(value), { rules: searching, blind, work })
  const rule = found?.by[0]
  if (rule === undefined) return value
  note(redaction, { at: pointer, rule: rule.name })
  return markerOf(rule, String(value), blind)
}

function* inList(list: readonly Json[], here: Here, redaction: Redaction): Paced<Json> {
  let copy: Json[] | undefined
  for (const [i, value] of list.entries()) {
    if (redaction.pauses.due()) yield
    const now = yield* redactValue(value, below(here, i, redaction), redaction)
    if (now === value) continue
    copy ??= [...list]
    copy[i] = now
  }
  return copy ?? list
}

/** The members of an object that stays one, whatever covers it. */
export function* redactMembers(object: JsonObject, here: Here, redaction: Redaction): Paced<JsonObject> {
  const members: [string, Json][] = []
  let isSame = true
  for (const [name, value] of Object.entries(object)) {
    if (redaction.pauses.due()) yield
    const named = nameAt(name, here, redaction)
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

/** Undefined where the member goes with its name: of two names that are left out nobody could tell which is which. */
function nameAt(name: string, { pointer, searching }: Here, redaction: Redaction): string | undefined {
  const { names, blind, work } = redaction
  if (isMarker(name, names)) return name
  const found = searchText(name, { rules: searching, blind, work })
  const [first] = found?.by ?? []
  if (found === undefined || first === undefined) return name
  note(redaction, { at: pointer, rule: first.name, member: true })
  return found.by.every(({ comparable }) => comparable) ? found.text : undefined
}

function note({ leftOut }: Redaction, one: RedactedPlace): void {
  if (leftOut.length >= LEFT_OUT_MAX) throw new TooMuchLeftOut()
  leftOut.push(one)
}
