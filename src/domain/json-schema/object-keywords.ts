/** @module Keywords for objects: the members they must or may have, and the schemas of these. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { type Check, checkMember, type Evaluation, fault, keysOf, quoted, SEEN_STEPS, type Seen } from './evaluation.ts'
import type { LinearPattern } from './linear-pattern.ts'
import {
  asTexts,
  type Checks,
  keywordOf,
  patternOf,
  readCount,
  readMembers,
  readNamedSchemas,
  readSchema,
  refuseKeyword,
  type SchemaPlace,
} from './schema-compilation.ts'
import { spend } from './work.ts'

export function objectKeywords(place: SchemaPlace, checks: Checks): void {
  const most = readCount(place, 'maxProperties')
  if (most !== undefined) {
    const message = `must NOT have more than ${most} properties`
    checks.object.push((value, run) => keysOf(value, run).length <= most || fault(run, message))
  }
  const least = readCount(place, 'minProperties')
  if (least !== undefined) {
    const message = `must NOT have fewer than ${least} properties`
    checks.object.push((value, run) => keysOf(value, run).length >= least || fault(run, message))
  }
  const required = keywordOf(place, 'required')
  if (required !== undefined) checks.object.push(requiredCheck(place, 'required', required))
  for (const [name, names] of readMembers(place, 'dependentRequired')) {
    checks.object.push(dependentCheck(name, requiredCheck(place, 'dependentRequired', names)))
  }
  for (const [name, value] of readMembers(place, 'dependencies')) {
    if (Array.isArray(value)) checks.object.push(dependentCheck(name, requiredCheck(place, 'dependencies', value)))
    else addDependentSchema(name, place.compilation.compile(value, [...place.pointer, 'dependencies', name]), checks)
  }
  for (const [name, check] of readNamedSchemas(place, 'dependentSchemas')) addDependentSchema(name, check, checks)
  const names = readSchema(place, 'propertyNames')
  if (names !== undefined) checks.object.push(namesCheck(names))
  addMembers(place, checks)
}

/** Steps per name, for a look-up and a possible fault. */
const NAME_STEPS = 2

function requiredCheck(place: SchemaPlace, keyword: string, value: Json): Check<JsonObject> {
  const names = asTexts(value) ?? refuseKeyword(place, keyword, 'a list of names')
  spend(place.compilation.work, names.length)
  const required = names.map((name) => ({ name, message: `must have required property '${quoted(name)}'` }))
  return (object, run) => {
    spend(run.work, NAME_STEPS * names.length)
    let holds = true
    for (const { name, message } of required) {
      if (!Object.hasOwn(object, name)) holds = fault(run, message)
    }
    return holds
  }
}

function dependentCheck(name: string, check: Check<JsonObject>): Check<JsonObject> {
  return (value, run, seen) => !Object.hasOwn(value, name) || check(value, run, seen)
}

function addDependentSchema(name: string, check: Check, checks: Checks): void {
  checks.object.push(dependentCheck(name, check))
}

function namesCheck(names: Check): Check<JsonObject> {
  return (value, run) => {
    let holds = true
    for (const key of keysOf(value, run)) {
      if (!checkMember(names, { at: key, value: key }, run)) holds = fault(run, 'property name must be valid', key)
    }
    return holds
  }
}

interface Members {
  readonly listed: ReadonlyMap<string, Check>
  readonly patterns: readonly { readonly pattern: LinearPattern; readonly check: Check }[]
  readonly others: Check | undefined
  readonly isClosed: boolean
}

function addMembers(place: SchemaPlace, { object }: Checks): void {
  const members: Members = {
    listed: new Map(readNamedSchemas(place, 'properties')),
    patterns: readNamedSchemas(place, 'patternProperties').map(([source, check]) => {
      return { pattern: patternOf(place, source), check }
    }),
    others: readSchema(place, 'additionalProperties'),
    isClosed: keywordOf(place, 'additionalProperties') === false,
  }
  if (members.listed.size > 0) object.push((value, run, seen) => checkListed(value, members, { run, seen }))
  if (members.patterns.length > 0 || members.others !== undefined) {
    object.push((value, run, seen) => checkOthers(value, members, { run, seen }))
  }
}

interface To {
  readonly run: Evaluation
  readonly seen: Seen | undefined
}

function checkListed(value: JsonObject, { listed }: Members, { run, seen }: To): boolean {
  spend(run.work, NAME_STEPS * listed.size)
  let holds = true
  for (const [name, check] of listed) {
    if (!Object.hasOwn(value, name)) continue
    seen?.names.add(name)
    holds = checkMember(check, { at: name, value: value[name] as Json }, run) && holds
  }
  return holds
}

/** Checks members that match a pattern, and members that neither `properties` nor a pattern names. */
function checkOthers(value: JsonObject, { listed, patterns, others, isClosed }: Members, to: To): boolean {
  const { run, seen } = to
  const keys = keysOf(value, run)
  spend(run.work, SEEN_STEPS * keys.length)
  let holds = true
  for (const key of keys) {
    const member = { at: key, value: value[key] as Json }
    let isNamed = listed.has(key)
    for (const { pattern, check } of patterns) {
      if (!pattern.test(key, run.work)) continue
      isNamed = true
      seen?.names.add(key)
      holds = checkMember(check, member, run) && holds
    }
    if (isNamed || others === undefined) continue
    seen?.names.add(key)
    if (isClosed) holds = fault(run, 'must NOT have additional properties', key)
    else holds = checkMember(others, member, run) && holds
  }
  return holds
}
