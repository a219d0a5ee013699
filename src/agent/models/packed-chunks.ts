/**
 * @module Packs the chunks of a stream: consecutive chunks usually differ only in a few values, so only those are recorded. Lossless: unpacking restores each
 * chunk.
 */
import { isJsonObject, type Json } from '../../../schemas/json.ts'

/** A chunk, then for each following chunk of the same shape the values that change. */
interface Run {
  readonly first: Json
  /** Paths of the changing values; each element is a member name or a list index. */
  readonly at?: readonly (readonly string[])[]
  readonly rows?: readonly (readonly Json[])[]
}

export type PackedChunks = readonly Run[]

export function packChunks(chunks: readonly Json[]): PackedChunks {
  return groupsOf(chunks).map(packed)
}

export function unpackChunks(runs: PackedChunks): Json[] {
  return runs.flatMap(({ first, at = [], rows = [] }) => [
    structuredClone(first),
    ...rows.map((row) => {
      const chunk = structuredClone(first)
      return at.reduce<Json>((changed, path, i) => withLeaf(changed, path, row[i] ?? null), chunk)
    }),
  ])
}

/** Groups consecutive chunks of the same shape. */
function groupsOf(chunks: readonly Json[]): (readonly Json[])[] {
  const groups: Json[][] = []
  let shape: string | undefined
  for (const chunk of chunks) {
    const own = shapeOf(chunk)
    if (own === shape) groups.at(-1)?.push(chunk)
    else groups.push([chunk])
    shape = own
  }
  return groups
}

function packed(group: readonly Json[]): Run {
  const [first = null, ...rest] = group
  if (rest.length === 0) return { first }
  const leaves = leavesOf(first)
  const rows = rest.map((chunk) => leavesOf(chunk).map(({ value }) => value))
  const changing = leaves.flatMap(({ value }, i) => (rows.some((row) => row[i] !== value) ? [i] : []))
  return {
    first,
    at: changing.map((i) => leaves[i]?.path ?? []),
    rows: rows.map((row) => changing.map((i) => row[i] ?? null)),
  }
}

type Leaf = { readonly path: readonly string[]; readonly value: Json }

/** Scalars and empty containers, in an order that depends only on the shape. */
export function leavesOf(value: Json, path: readonly string[] = []): Leaf[] {
  const members = membersOf(value)
  if (members.length === 0) return [{ path, value: isScalar(value) ? value : null }]
  return members.flatMap(([name, member]) => leavesOf(member, [...path, name]))
}

function shapeOf(value: Json): string {
  const members = membersOf(value)
  if (members.length === 0) return isScalar(value) ? '.' : Array.isArray(value) ? '[]' : '{}'
  const inner = members.map(([name, member]) => `${JSON.stringify(name)}:${shapeOf(member)}`).join()
  return Array.isArray(value) ? `[${inner}]` : `{${inner}}`
}

function membersOf(value: Json): [string, Json][] {
  if (Array.isArray(value)) return value.map((member, i) => [String(i), member as Json])
  return isJsonObject(value) ? Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)) : []
}

const isScalar = (value: Json): boolean => typeof value !== 'object' || value === null

/** Replaces a leaf in place; the caller passes a copy. */
export function withLeaf(value: Json, path: readonly string[], leaf: Json): Json {
  const last = path.at(-1)
  if (last === undefined) return leaf
  let holder = value as { [name: string]: Json }
  for (const part of path.slice(0, -1)) holder = holder[part] as { [name: string]: Json }
  // Defined rather than assigned, because a member may be named `__proto__`.
  Object.defineProperty(holder, last, { value: leaf, writable: true, enumerable: true, configurable: true })
  return value
}
