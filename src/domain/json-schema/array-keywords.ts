/** @module Keywords for arrays: length, items, and required contents. */
import type { Json } from '../../../schemas/json.ts'
import { type Check, checkMember, fault, holdsSilently, SEEN_STEPS } from './evaluation.ts'
import { textOf } from './scalar-keywords.ts'
import {
  type Checks,
  keywordOf,
  readCount,
  readFlag,
  readSchema,
  readSchemas,
  type SchemaPlace,
} from './schema-compilation.ts'
import { spend } from './work.ts'

type ArrayCheck = Check<readonly Json[]>

export function arrayKeywords(place: SchemaPlace, checks: Checks): void {
  const most = readCount(place, 'maxItems')
  if (most !== undefined) {
    checks.array.push((items, run) => items.length <= most || fault(run, `must NOT have more than ${most} items`))
  }
  const least = readCount(place, 'minItems')
  if (least !== undefined) {
    checks.array.push((items, run) => items.length >= least || fault(run, `must NOT have fewer than ${least} items`))
  }
  if (readFlag(place, 'uniqueItems')) checks.array.push(unique)
  const first = readSchemas(place, 'prefixItems') ?? []
  if (first.length > 0) checks.array.push(prefixCheck(first))
  const rest = readSchema(place, 'items')
  if (rest !== undefined) checks.array.push(restCheck(place, rest, first.length))
  const contained = readSchema(place, 'contains')
  if (contained !== undefined) checks.array.push(containsCheck(place, contained))
}

const unique: ArrayCheck = (items, run) => {
  const texts = new Set<Json>()
  for (const item of items) texts.add(typeof item === 'object' && item !== null ? textOf(item, run) : tagged(item))
  spend(run.work, SEEN_STEPS * items.length)
  return texts.size === items.length || fault(run, 'must NOT have duplicate items')
}

/** A string among the items must not equal the canonical text of an array or an object. */
function tagged(scalar: Json): Json {
  return typeof scalar === 'string' ? `"${scalar}` : scalar
}

function prefixCheck(first: readonly Check[]): ArrayCheck {
  return (items, run, seen) => {
    let holds = true
    const count = Math.min(first.length, items.length)
    for (let at = 0; at < count; at += 1) {
      seen?.places.add(at)
      holds = checkMember(first[at] as Check, { at, value: items[at] as Json }, run) && holds
    }
    return holds
  }
}

function restCheck(place: SchemaPlace, rest: Check, from: number): ArrayCheck {
  if (keywordOf(place, 'items') === false) {
    return (items, run) => items.length <= from || fault(run, `must NOT have more than ${from} items`)
  }
  return (items, run, seen) => {
    let holds = true
    for (let at = from; at < items.length; at += 1) {
      seen?.places.add(at)
      holds = checkMember(rest, { at, value: items[at] as Json }, run) && holds
    }
    return holds
  }
}

function containsCheck(place: SchemaPlace, contained: Check): ArrayCheck {
  const least = readCount(place, 'minContains') ?? 1
  const most = readCount(place, 'maxContains') ?? Number.POSITIVE_INFINITY
  const bounds = most === Number.POSITIVE_INFINITY ? `at least ${least}` : `at least ${least} and no more than ${most}`
  return (items, run, seen) => {
    let found = 0
    for (const [at, item] of items.entries()) {
      if (!holdsSilently(contained, item, { run, seen: undefined })) continue
      found += 1
      seen?.places.add(at)
    }
    return (found >= least && found <= most) || fault(run, `must contain ${bounds} valid item(s)`)
  }
}
