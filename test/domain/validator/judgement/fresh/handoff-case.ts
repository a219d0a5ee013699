/** @module How the fresh handoffs are written down: an established context, and what one handoff does to it. */
import type { Json, JsonObject } from '../../../../../schemas/json.ts'

// biome-ignore lint/suspicious/noExplicitAny: a case edits a copy of a context whose shape only it knows.
export type Draft = any

export interface HandoffCase {
  readonly domain: string
  readonly label: 'accept' | 'reject'
  readonly kind: string
  readonly why: string
  readonly before: JsonObject
  readonly after: JsonObject
  readonly supersedes?: readonly { readonly path: string; readonly reason: string }[]
}

type Edit = (context: Draft) => void
type Row = readonly [label: 'accept' | 'reject', kind: string, why: string, edit: Edit, supersedes?: string]

/** `supersedes` is a path that the handoff supersedes, with a reason. */
export function casesOf(domain: string, before: JsonObject, rows: readonly Row[]): HandoffCase[] {
  return rows.map(([label, kind, why, edit, path]) => {
    const after = structuredClone(before) as Draft
    edit(after)
    const supersedes =
      path === undefined ? {} : { supersedes: [{ path, reason: 'corrected after a check at the source' }] }
    return { domain, label, kind, why, before, after: after as JsonObject, ...supersedes }
  })
}

/** The same object with its keys written the other way round, in every depth. */
export function turned(value: Json): Json {
  if (Array.isArray(value)) return value.map((member) => turned(member as Json))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, turned(member as Json)]),
  )
}

/** Sets the member at a pointer. */
export function set(pointer: string, value: Json): Edit {
  return (context) => {
    const { holder, key } = placeIn(context, pointer)
    holder[key] = value
  }
}

/** Adds members to the list at a pointer. */
export function push(pointer: string, ...members: Json[]): Edit {
  return (context) => listAt(context, pointer).push(...members)
}

/** Takes the member at a pointer away; of a list with those behind it moved up. */
export function drop(pointer: string): Edit {
  return (context) => {
    const { holder, key } = placeIn(context, pointer)
    if (Array.isArray(holder)) holder.splice(Number(key), 1)
    else delete holder[key]
  }
}

/** Turns the list at a pointer round. */
export function reverse(pointer: string): Edit {
  return (context) => listAt(context, pointer).reverse()
}

function listAt(context: Draft, pointer: string): Json[] {
  const { holder, key } = placeIn(context, pointer)
  return holder[key]
}

function placeIn(context: Draft, pointer: string): { holder: Draft; key: string } {
  const keys = pointer.slice(1).split('/')
  const key = keys.pop() ?? ''
  return { holder: keys.reduce((inner, each) => inner[each], context), key }
}
