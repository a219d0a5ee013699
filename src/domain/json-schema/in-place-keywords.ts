/** @module Keywords that apply further schemas to the same value (JSON Schema 2020-12 Core, sections 8.2 and 10.2). */
import type { Json } from '../../../schemas/json.ts'
import { addSeen, type Check, type Evaluation, fault, holdsSilently, nothingSeen, type Seen } from './evaluation.ts'
import {
  type Checks,
  readNamedSchemas,
  readSchema,
  readSchemas,
  readText,
  type SchemaPlace,
} from './schema-compilation.ts'

export function referenceKeywords(place: SchemaPlace, { any }: Checks): void {
  for (const keyword of ['$anchor', '$dynamicAnchor']) {
    const anchor = readText(place, keyword)
    if (anchor !== undefined) place.compilation.name(anchor, place)
  }
  // A schema is a single resource here, so a dynamic reference has one target.
  for (const keyword of ['$ref', '$dynamicRef']) {
    const reference = readText(place, keyword)
    if (reference === undefined) continue
    const target = place.compilation.refer(reference, place)
    any.push((value, run, seen) => target.check(value, run, seen))
  }
  for (const keyword of ['$defs', 'definitions']) readNamedSchemas(place, keyword)
}

export function combiningKeywords(place: SchemaPlace, { any }: Checks): void {
  any.push(...(readSchemas(place, 'allOf') ?? []))
  const anyOf = readSchemas(place, 'anyOf')
  if (anyOf !== undefined) any.push(anyOfCheck(anyOf))
  const oneOf = readSchemas(place, 'oneOf')
  if (oneOf !== undefined) any.push(oneOfCheck(oneOf))
  const not = readSchema(place, 'not')
  if (not !== undefined) {
    any.push((value, run) => !holdsSilently(not, value, { run, seen: undefined }) || fault(run, 'must NOT be valid'))
  }
  addCondition(place, any)
}

/** Discards the faults found in alternatives, which count only if no alternative is valid. */
function takeBack(run: Evaluation, to: { readonly listed: number; readonly total: number }): void {
  run.faults.length = to.listed
  run.faultsTotal = to.total
}

const markOf = ({ faults, faultsTotal }: Evaluation) => ({ listed: faults.length, total: faultsTotal })

/** Runs one alternative; the members it evaluated count only if it is valid. */
function tries(check: Check, value: Json, { run, seen }: { run: Evaluation; seen: Seen | undefined }): boolean {
  const own = seen && nothingSeen()
  const holds = check(value, run, own)
  if (holds) addSeen(run, seen, own)
  return holds
}

function anyOfCheck(alternatives: readonly Check[]): Check {
  return (value, run, seen) => {
    const mark = markOf(run)
    let holds = false
    for (const alternative of alternatives) {
      if (!tries(alternative, value, { run, seen })) continue
      holds = true
      if (seen === undefined) break
    }
    if (!holds) return fault(run, 'must match a schema in anyOf')
    takeBack(run, mark)
    return true
  }
}

function oneOfCheck(alternatives: readonly Check[]): Check {
  return (value, run, seen) => {
    const mark = markOf(run)
    let holding = 0
    for (const alternative of alternatives) {
      if (tries(alternative, value, { run, seen })) holding += 1
      if (holding > 1) break
    }
    if (holding > 0) takeBack(run, mark)
    return holding === 1 || fault(run, 'must match exactly one schema in oneOf')
  }
}

function addCondition(place: SchemaPlace, any: Check[]): void {
  const condition = readSchema(place, 'if')
  const then = readSchema(place, 'then')
  const otherwise = readSchema(place, 'else')
  if (condition === undefined) return
  any.push((value, run, seen) => {
    const own = seen && nothingSeen()
    const isMet = holdsSilently(condition, value, { run, seen: own })
    if (isMet) addSeen(run, seen, own)
    const follows = isMet ? then : otherwise
    if (follows === undefined || follows(value, run, seen)) return true
    return fault(run, `must match "${isMet ? 'then' : 'else'}" schema`)
  })
}
