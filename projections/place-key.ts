/** @module Identifies a place of a context by the identities of list members, so that it stays the same when a list is reordered. */
import type { Json } from '../schemas/json.ts'
import { type Token, valueAt } from '../schemas/json-pointer.ts'
import { identityCandidates, identityText } from './list-identity.ts'

/** A unique text for a place; a list member without an identity is named by its index. */
export function placeKey(context: Json, place: readonly string[]): string {
  const steps: Token[] = []
  let value: Json | undefined = context
  for (const [depth, token] of place.entries()) {
    const isMember = Array.isArray(value)
    steps.push(isMember ? (memberName(value as readonly Json[], token, place[depth - 1] ?? '') ?? token) : token)
    value = value === undefined ? undefined : valueAt(value, [token])
  }
  return JSON.stringify(steps)
}

function memberName(list: readonly Json[], token: string, listKey: string): string | undefined {
  const member = valueAt(list as Json, [token])
  if (member === undefined) return undefined
  for (const identity of identityCandidates(list, listKey)) {
    const text = identityText(member, identity)
    if (text !== undefined) return `[${identity.keys.join()}=${text}]`
  }
  return undefined
}
