/** @module Generators of contexts, and the changes that the properties make to them. */
import fc from 'fast-check'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'

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

function mapMembers(given: Json, change: (member: Json) => Json): Json {
  if (Array.isArray(given)) return given.map(change)
  if (!isJsonObject(given)) return given
  return Object.fromEntries(Object.entries(given).map(([key, member]) => [key, change(member)]))
}

/** All objects with their members in the opposite order. */
export function reversedKeys(given: Json): Json {
  const inner = mapMembers(given, reversedKeys)
  return isJsonObject(inner) ? Object.fromEntries(Object.entries(inner).reverse()) : inner
}

/** Numbers in [0, 1) from a seed: a property's own randomness must shrink with it. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}
