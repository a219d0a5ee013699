/** @module One payload on its way through a schema: where it is, what it has cost, what was found wrong. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { formatPointer, type Token } from '../../../schemas/json-pointer.ts'
import { spend, type Work, WorkExhausted } from './work.ts'

/** Faults listed; beyond them they are only counted. */
export const FAULTS_MAX = 100
/** Keys of a payload may be long, and a path holds all of them: so many characters of paths are listed in all. */
const PATHS_MAX_CHARS = 64 * 1024
/** Schemas within schemas that one value is led through, references followed included: each takes a few frames of the stack. */
const DEPTH_MAX = 1_000
/** Names and patterns out of a schema are quoted up to here. */
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
  /** Over 0 inside a condition: what fails there is no fault of the payload. */
  silent: number
  depth: number
  readonly keys: Map<JsonObject, readonly string[]>
}

/** What the schemas met so far at one value have looked at; kept only where `unevaluated*` asks for it. */
export interface Seen {
  readonly names: Set<string>
  readonly places: Set<number>
}

/** Whether the value holds. Notes in `seen` what it looked at. */
export type Check<T extends Json = Json> = (value: T, run: Evaluation, seen: Seen | undefined) => boolean

export function startEvaluation(work: Work): Evaluation {
  return { work, path: [], faults: [], faultsTotal: 0, silent: 0, depth: 0, keys: new Map() }
}

/** Notes a fault where the evaluation stands, or at a member of that place. Always false: a check answers with it. */
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
    // The first is always reported.
    if (charsLeft < 0 && listed.length > 0) break
    listed.push({ path: formatPointer(place), message })
  }
  return listed
}

/** Checks a member of the value that the evaluation stands at. */
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

/** Runs a check whose failing is no fault. */
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

/** The keys of an object, read once in an evaluation. */
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

/** What a schema that holds has looked at counts for the one around it. */
export function addSeen(run: Evaluation, seen: Seen | undefined, more: Seen | undefined): void {
  if (seen === undefined || more === undefined) return
  spend(run.work, SEEN_STEPS * (more.names.size + more.places.size))
  for (const name of more.names) seen.names.add(name)
  for (const place of more.places) seen.places.add(place)
}

export const SEEN_STEPS = 4

/** Text out of a schema, for a message. */
export function quoted(text: string): string {
  return text.length <= QUOTED_MAX_CHARS ? text : `${text.slice(0, QUOTED_MAX_CHARS)}…`
}
