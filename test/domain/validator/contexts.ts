/** @module Generators of contexts, and the changes that the properties make to them. */
import fc from 'fast-check'
import { setText, setTextsOf } from '../../../projections/set-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'

type Key = string | number
export type Path = readonly Key[]

// Few names and values, so that they meet: members that are alike, identities that repeat, nulls, empty containers.
const scalar = fc.oneof(
  fc.constantFrom<Json>('a', 'B', ' b', 'Zoë', '', 0, 1, 2.5, true, false, null),
  fc.nat(30),
  fc.string({ maxLength: 4 }),
)
const name = fc.oneof(
  fc.constantFrom('id', 'key', 'name', 'v', 'a/b', 'm~n', '', 'constructor', '7'),
  fc.string({ maxLength: 3 }),
)

const { value } = fc.letrec<{ value: Json; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.dictionary(
    name.filter((key) => key !== '__proto__'),
    tie('value'),
    { maxKeys: 4, noNullPrototype: true },
  ),
}))

export const context = fc.dictionary(
  fc.constantFrom('entities', 'actions', 'facts', 'constraints', 'requirements', 'plan'),
  value,
  { maxKeys: 6, noNullPrototype: true },
)

/** Contexts in whose lists no member repeats: taking one leaf away then takes something away. */
export const contextWithoutRepeats = context.map((given) => withoutRepeats(given) as JsonObject)

function withoutRepeats(given: Json): Json {
  if (Array.isArray(given)) {
    const members = new Map(
      given.map(withoutRepeats).map((member) => [setText(member, setTextsOf('entities')), member]),
    )
    return [...members.values()]
  }
  return mapMembers(given, withoutRepeats)
}

function mapMembers(given: Json, change: (member: Json) => Json): Json {
  if (Array.isArray(given)) return given.map(change)
  if (!isJsonObject(given)) return given
  return Object.fromEntries(Object.entries(given).map(([key, member]) => [key, change(member)]))
}

/** All lists in another order. */
export function shuffled(given: Json, random: () => number): Json {
  const inner = mapMembers(given, (member) => shuffled(member, random))
  if (!Array.isArray(inner)) return inner
  return inner
    .map((member: Json) => ({ member, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ member }) => member)
}

/** All objects with their members in the opposite order. */
export function reversedKeys(given: Json): Json {
  const inner = mapMembers(given, reversedKeys)
  return isJsonObject(inner) ? Object.fromEntries(Object.entries(inner).reverse()) : inner
}

/** Members added to lists and objects, in any depth; nothing taken away. */
export function grown(given: Json, random: () => number): Json {
  const inner = mapMembers(given, (member) => grown(member, random))
  if (random() < 0.5) return inner
  const addition: Json = { grown: Math.floor(random() * 1000) }
  if (Array.isArray(inner)) return random() < 0.5 ? [addition, ...inner] : [...inner, addition]
  return isJsonObject(inner) ? { ...inner, [`+${Math.floor(random() * 1000)}`]: addition } : inner
}

/** Where the scalars and empty containers below the critical keys stand. */
export function leafPaths(given: JsonObject): readonly Path[] {
  return Object.entries(given).flatMap(([key, member]) => (key === 'plan' ? [] : pathsIn(member, [key])))
}

function pathsIn(given: Json, path: Path): readonly Path[] {
  const members = typeof given === 'object' && given !== null ? Object.entries(given) : []
  if (members.length === 0) return [path]
  return members.flatMap(([key, member]) =>
    pathsIn(member as Json, [...path, Array.isArray(given) ? Number(key) : key]),
  )
}

export function without(given: Json, [key, ...rest]: Path): Json {
  if (Array.isArray(given)) {
    return given.flatMap((member: Json, i) => (i !== key ? [member] : rest.length === 0 ? [] : [without(member, rest)]))
  }
  const entries = Object.entries(given as JsonObject)
  return Object.fromEntries(
    entries.flatMap(([name, member]) =>
      name !== key ? [[name, member]] : rest.length === 0 ? [] : [[name, without(member, rest)]],
    ),
  )
}

/** Numbers in [0, 1) from a seed: a property's own randomness must shrink with it. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}
