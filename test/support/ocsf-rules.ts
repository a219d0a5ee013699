/** @module Whether an activity fits the released OCSF schema, by the facts in `test/vectors/ocsf`: attributes, types, enums, constraints, profiles. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import { ROOT } from './source-root.ts'

interface ObjectRules {
  readonly attributes: Readonly<Record<string, string>>
  readonly at_least_one?: readonly string[]
  readonly just_one?: readonly string[]
  /** Takes any members. */
  readonly free?: boolean
}

interface Schema {
  readonly version: string
  readonly class: ObjectRules
  readonly objects: Readonly<Record<string, ObjectRules>>
}

export const OCSF: Schema = JSON.parse(readFileSync(join(ROOT, 'test/vectors/ocsf/api-activity-1.9.0.json'), 'utf8'))

/** What is wrong, each with its path; empty where it fits. */
export function ocsfFaults(activity: JsonObject): readonly string[] {
  const metadata = activity.metadata
  const isMetadata = metadata !== undefined && isJsonObject(metadata)
  const named = isMetadata && Array.isArray(metadata.profiles) ? metadata.profiles.map(String) : []
  const faults = objectFaults(activity, { rules: OCSF.class, path: '', profiles: new Set(named) })
  const version = isMetadata ? metadata.version : undefined
  const typeUid = Number(activity.class_uid) * 100 + Number(activity.activity_id)
  return [
    ...faults,
    ...(version === OCSF.version ? [] : [`metadata.version: ${version} is not ${OCSF.version}`]),
    ...(activity.type_uid === typeUid ? [] : [`type_uid: ${activity.type_uid} is not class and activity`]),
  ]
}

interface Place {
  readonly rules: ObjectRules
  readonly path: string
  readonly profiles: ReadonlySet<string>
}

function objectFaults(value: Json, { rules, path, profiles }: Place): readonly string[] {
  if (!isJsonObject(value)) return [`${path}: is no object`]
  if (rules.free === true) return []
  const faults: string[] = []
  const has = (name: string): boolean => Object.hasOwn(value, name)
  for (const [name, fact] of Object.entries(rules.attributes)) {
    if (fact.startsWith('required ') && !has(name)) faults.push(`${path}${name}: is required`)
  }
  for (const [name, member] of Object.entries(value)) {
    const fact = rules.attributes[name]
    if (fact === undefined) faults.push(`${path}${name}: is no attribute`)
    else faults.push(...attributeFaults(member as Json, fact, { path: `${path}${name}`, profiles, beside: value }))
  }
  if (rules.at_least_one !== undefined && !rules.at_least_one.some(has))
    faults.push(`${path}: has none of ${rules.at_least_one.join(', ')}`)
  if (rules.just_one !== undefined && rules.just_one.filter(has).length !== 1)
    faults.push(`${path}: has not just one of ${rules.just_one.join(', ')}`)
  return faults
}

interface AttributePlace {
  readonly path: string
  readonly profiles: ReadonlySet<string>
  readonly beside: JsonObject
}

const OTHER = 99

function attributeFaults(value: Json, fact: string, { path, profiles, beside }: AttributePlace): readonly string[] {
  const [, requirement, type = '', list, values, profile] =
    /^(\w+) (\w+)(\[\])?(?: =([\d,]+))?(?: @(\w+))?$/.exec(fact) ?? []
  if (requirement === undefined) throw new TypeError(`${path}: no fact is "${fact}"`)
  if (requirement === 'deprecated') return [`${path}: is deprecated`]
  if (profile !== undefined && !profiles.has(profile)) return [`${path}: is of the profile ${profile}`]
  const faults = list === undefined ? valueFaults(value, type, path, profiles) : listFaults(value, type, path, profiles)
  if (values !== undefined && !values.split(',').includes(String(value)))
    return [...faults, `${path}: ${value} is no value`]
  // What is Other is said in words beside it.
  const sibling = path.split('.').at(-1)?.replace(/_id$/, '') ?? ''
  if (values !== undefined && value === OTHER && typeof beside[sibling] !== 'string')
    return [...faults, `${path}: is Other, and no ${sibling} says which`]
  return faults
}

function listFaults(value: Json, type: string, path: string, profiles: ReadonlySet<string>): readonly string[] {
  if (!Array.isArray(value)) return [`${path}: is no list`]
  return value.flatMap((each, at) => valueFaults(each, type, `${path}[${at}]`, profiles))
}

const INT_MAX = 2 ** 31 - 1

const SCALARS: Readonly<Record<string, (value: Json) => boolean>> = {
  string_t: (value) => typeof value === 'string',
  username_t: (value) => typeof value === 'string',
  file_hash_t: (value) => typeof value === 'string' && /^[a-fA-F0-9]{1,64}$/.test(value),
  integer_t: (value) => Number.isInteger(value) && Math.abs(Number(value)) <= INT_MAX,
  long_t: (value) => Number.isSafeInteger(value),
  timestamp_t: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  boolean_t: (value) => typeof value === 'boolean',
}

function valueFaults(value: Json, type: string, path: string, profiles: ReadonlySet<string>): readonly string[] {
  if (!type.endsWith('_t')) {
    const rules = OCSF.objects[type]
    return rules === undefined
      ? [`${path}: no facts of ${type}`]
      : objectFaults(value, { rules, path: `${path}.`, profiles })
  }
  const is = SCALARS[type]
  if (is === undefined) return [`${path}: no facts of ${type}`]
  return is(value) ? [] : [`${path}: is no ${type}`]
}
