/**
 * @module Policy `relay`: the rules of the Relay library's handoff validator, kept so that its users can compare verdicts
 * (JUD-30). They count words; they do not know what was established.
 */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { formatPointer } from '../../../schemas/json-pointer.ts'
import type { ResolvedPolicy } from '../../../schemas/policy.ts'
import { addFinding, type Report } from './report.ts'

const ENTITY_KEYS: ReadonlySet<string> = new Set([
  'entity',
  'entities',
  'subject',
  'object',
  'name',
  'id',
  'identifier',
])
const STOP_WORDS: ReadonlySet<string> = new Set(
  'the and but for nor yet so a an of to in on at by with from is are was were be been being'.split(' '),
)

/** Bounds in code points, both inclusive. */
const ENTITY_MIN_CHARS = 3
const ENTITY_MAX_CHARS = 79
const DEPTH_MAX = 50
/** The walk stops before its next value once this many entities are found. */
const ENTITIES_MAX = 10_000
/** Maximum number of new entities per removed entity. */
const FABRICATION_RATIO_MAX = 2.0
const DELETION_MAX = 3

export interface RelayInput {
  readonly before: JsonObject
  readonly after: JsonObject
  readonly policy: ResolvedPolicy
  readonly first?: boolean
}

export interface RelayOutcome {
  readonly confidence: number
  readonly changedKeys: readonly string[]
}

/** Adds the findings, and the diff of top-level keys. The first handoff of a run is not judged. */
export function relayFindings({ before, after, policy, first }: RelayInput, report: Report): RelayOutcome {
  const changedKeys = diffKeys(before, after, report)
  if (first === true) return { confidence: 1, changedKeys }

  const earlier = report.errors
  const known = relayEntities(before)
  const now = known === 'too-deep' ? known : relayEntities(after)
  if (known === 'too-deep' || now === 'too-deep') {
    contradiction(report, 'too-deep', { path: '', message: `nested deeper than ${DEPTH_MAX}` })
    removedCriticalKeys(report, before, policy)
    return { confidence: 0, changedKeys }
  }

  const found = [...now].filter((entity) => known.has(entity)).length
  countChanges(report, { added: now.size - found, removed: known.size - found })
  removedCriticalKeys(report, before, policy)
  if (report.errors > earlier) return { confidence: 0, changedKeys }
  return { confidence: now.size === 0 ? 1 : found / now.size, changedKeys }
}

function countChanges(report: Report, { added, removed }: { readonly added: number; readonly removed: number }): void {
  if (added > 0 && added / Math.max(removed, 1) > FABRICATION_RATIO_MAX) {
    contradiction(report, 'fabrication', { path: '', message: `${added} new entities for ${removed} removed` })
  }
  if (added === 0 && removed > DELETION_MAX) {
    contradiction(report, 'deletion', { path: '', message: `${removed} entities removed and none new` })
  }
}

function removedCriticalKeys(report: Report, before: JsonObject, policy: ResolvedPolicy): void {
  for (const key of report.diff.removed) {
    if (!policy.criticalKeys.includes(key)) continue
    const message = 'a critical key must not vanish'
    addFinding(report, {
      rule: 'critical-key-removed',
      severity: 'error',
      path: formatPointer([key]),
      before: before[key] as Json,
      message,
    })
  }
}

function contradiction(
  report: Report,
  rule: 'fabrication' | 'deletion' | 'too-deep',
  { path, message }: { readonly path: string; readonly message: string },
): void {
  addFinding(report, { rule, severity: 'error', path, message })
}

/**
 * Strings under an entity key, as its value or in a list that is its value, in lower case. The walk visits the most recently deferred
 * value first, so that it finds the same entities as the library when it reaches the limit. JavaScript lists integer-like keys first: with
 * these, the first 10,000 entities may differ.
 */
export function relayEntities(payload: JsonObject): ReadonlySet<string> | 'too-deep' {
  const entities = new Set<string>()
  const aside: { value: Json; depth: number; isEntity: boolean }[] = [{ value: payload, depth: 0, isEntity: false }]
  for (let next = aside.pop(); next !== undefined; next = aside.pop()) {
    if (entities.size >= ENTITIES_MAX) return entities
    const { value, depth, isEntity } = next
    if (depth > DEPTH_MAX) return 'too-deep'
    if (typeof value !== 'object' || value === null) continue

    const isList = Array.isArray(value)
    for (const [key, member] of Object.entries(value) as [string, Json][]) {
      const counts = isList ? isEntity : ENTITY_KEYS.has(key)
      if (counts && isEntityText(member)) entities.add(member.toLowerCase())
      else aside.push({ value: member, depth: depth + 1, isEntity: counts })
    }
  }
  return entities
}

function isEntityText(value: Json): value is string {
  if (typeof value !== 'string' || STOP_WORDS.has(value.toLowerCase())) return false
  // The number of code units bounds the number of code points, so that long texts need no count.
  if (value.length < ENTITY_MIN_CHARS || value.length > 2 * ENTITY_MAX_CHARS) return false
  const chars = [...value].length
  return chars >= ENTITY_MIN_CHARS && chars <= ENTITY_MAX_CHARS
}

function diffKeys(before: JsonObject, after: JsonObject, report: Report): readonly string[] {
  const { added, removed, modified } = report.diff
  for (const key of Object.keys(after)) if (!Object.hasOwn(before, key)) added.push(key)
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key)) removed.push(key)
    else if (!isEqualInPython(before[key] as Json, after[key] as Json)) modified.push(key)
  }
  for (const list of [added, removed, modified]) list.sort(byCodePoint)
  return [...added, ...removed, ...modified]
}

/** Python's `==`: booleans equal the numbers 1 and 0, at any depth. */
export function isEqualInPython(a: Json, b: Json): boolean {
  if (a === b) return true
  if (typeof a === 'boolean' && typeof b === 'number') return Number(a) === b
  if (typeof a === 'number' && typeof b === 'boolean') return a === Number(b)
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [mine, theirs] = [a as JsonObject, b as JsonObject]
  const keys = Object.keys(mine)
  return (
    keys.length === Object.keys(theirs).length &&
    keys.every((key) => Object.hasOwn(theirs, key) && isEqualInPython(mine[key] as Json, theirs[key] as Json))
  )
}

/** Compares by code point, as Python does; JavaScript compares by code unit, which differs beyond U+FFFF. */
export function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (x !== y) return fixedUp(x) - fixedUp(y)
  }
  return a.length - b.length
}

/** Maps surrogates above all other code units, so that code units sort like code points. */
function fixedUp(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}
