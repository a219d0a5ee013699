/** @module The evaluation of one payload against a schema: its current place, its cost, and the faults found. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { formatPointer, type Token } from '../../../schemas/json-pointer.ts'
import { spend, type Work, WorkExhausted } from './work.ts'

/** Maximum number of faults listed; further ones are only counted. */
export const FAULTS_MAX = 100
/** Maximum characters of all listed paths together; keys of a payload may be long, and each path repeats them. */
const PATHS_MAX_CHARS = 64 * 1024
/** Maximum nesting of schemas applied to one value, followed references included; each level takes a few stack frames. */
const DEPTH_MAX = 1_000
/** Maximum length at which names and patterns of a schema are quoted, in characters. */
const QUOTED_MAX_CHARS = 200

export interface SchemaFault {
  /** JSON Pointer into the payload. */
  readonly path: string
  readonly message: string
}

interface FoundFault {
  readonly place: readonly Token[]
  readonly message: string
}

export interface Evaluation {
  readonly work: Work
  readonly path: Token[]
  readonly faults: FoundFault[]
  faultsTotal: number
  /** Greater than 0 inside a condition, where a failing check is no fault of the payload. */
  silent: number
  depth: number
  readonly keys: Map<JsonObject, readonly string[]>
}

/** The members that schemas have evaluated at one value; collected only if an `unevaluated*` keyword needs them. */
export interface Seen {
  readonly names: Set<string>
  readonly places: Set<number>
}

/** Returns whether the value is valid, and records in `seen` which members it evaluated. */
export type Check<T extends Json = Json> = (value: T, run: Evaluation, seen: Seen | undefined) => boolean

export function startEvaluation(work: Work): Evaluation {
  return { work, path: [], faults: [], faultsTotal: 0, silent: 0, depth: 0, keys: new Map() }
}

/** Records a fault at the current place or at a member of it. Always returns false, so that a check can return it. */
export function fault(run: Evaluation, message: string, member?: Token): false {
  if (run.silent > 0) return false
  run.faultsTotal += 1
  if (run.faults.length >= FAULTS_MAX) return false
  spend(run.work, run.path.length + 4)
  run.faults.push({ place: member === undefined ? [...run.path] : [...run.path, member], message })
  return false
}

export function faultsOf({ faults }: Evaluation): SchemaFault[] {
  const listed: SchemaFault[] = []
  let charsLeft = PATHS_MAX_CHARS
  for (const { place, message } of faults) {
    for (const token of place) charsLeft -= String(token).length
    // The first fault is always listed.
    if (charsLeft < 0 && listed.length > 0) break
    listed.push({ path: formatPointer(place), message })
  }
  return listed
}

/** Checks a member of the current value. */
export function checkMember(
  check: Check,
  member: { readonly at: Token; readonly value: Json },
  run: Evaluation,
): boolean {
  run.path.push(member.at)
  const holds = check(member.value, run, undefined)
  run.path.pop()
  return holds
}

/** Runs a check without recording faults. */
export function holdsSilently(check: Check, value: Json, to: { run: Evaluation; seen: Seen | undefined }): boolean {
  to.run.silent += 1
  const holds = check(value, to.run, to.seen)
  to.run.silent -= 1
  return holds
}

export function enter(run: Evaluation): void {
  run.depth += 1
  if (run.depth > DEPTH_MAX) throw new WorkExhausted()
}

/** The keys of an object, cached for this evaluation. */
export function keysOf(value: JsonObject, run: Evaluation): readonly string[] {
  const known = run.keys.get(value)
  if (known !== undefined) return known
  const keys = Object.keys(value)
  spend(run.work, KEY_STEPS * keys.length)
  run.keys.set(value, keys)
  return keys
}

const KEY_STEPS = 4

export function nothingSeen(): Seen {
  return { names: new Set(), places: new Set() }
}

/** Adds the members that a valid subschema evaluated to those of the enclosing schema. */
export function addSeen(run: Evaluation, seen: Seen | undefined, more: Seen | undefined): void {
  if (seen === undefined || more === undefined) return
  spend(run.work, SEEN_STEPS * (more.names.size + more.places.size))
  for (const name of more.names) seen.names.add(name)
  for (const place of more.places) seen.places.add(place)
}

export const SEEN_STEPS = 4

/** Text of a schema, shortened for use in a message. */
export function quoted(text: string): string {
  return text.length <= QUOTED_MAX_CHARS ? text : `${text.slice(0, QUOTED_MAX_CHARS)}…`
}
