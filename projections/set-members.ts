/** @module Matches the members of two lists (JUD-12): by `id`, `key` or `name`, otherwise by value. */
import type { Json, JsonObject } from '../schemas/json.ts'
import { isJsonObject } from '../schemas/json.ts'
import { normaliseEntity, objectText, type SetTexts, scalarText, setText } from './set-text.ts'

/** The member of an action that only progresses and is not part of the action's identity. */
export const STATUS = 'status'

const IDENTITY_KEYS = ['id', 'key', 'name'] as const

interface MemberKeys {
  /** One text per member; two members are the same if their texts are equal. */
  readonly before: readonly string[]
  readonly after: readonly string[]
}

export function memberKeys(before: readonly Json[], after: readonly Json[], texts: SetTexts): MemberKeys {
  const identity = IDENTITY_KEYS.find((key) => isIdentity(before, key, texts) && isIdentity(after, key, texts))
  const keyOf = (member: Json): string => memberKey(member, identity, texts)
  return { before: before.map(keyOf), after: after.map(keyOf) }
}

/** Whether every object of the list has a distinct string or number under this key. */
function isIdentity(list: readonly Json[], key: string, texts: SetTexts): boolean {
  const seen = new Set<string | number>()
  for (const member of list) {
    if (!isJsonObject(member)) continue
    const value = Object.hasOwn(member, key) ? member[key] : undefined
    if (typeof value !== 'string' && typeof value !== 'number') return false
    const compared = typeof value === 'string' && texts.isEntities ? normaliseEntity(value) : value
    if (seen.has(compared)) return false
    seen.add(compared)
  }
  return true
}

function memberKey(member: Json, identity: string | undefined, texts: SetTexts): string {
  if (typeof member !== 'object' || member === null) return scalarText(member, texts)
  if (!isJsonObject(member)) return setText(member, texts)
  if (identity !== undefined) return `${identity}=${scalarText(member[identity] as string | number, texts)}`
  return texts.isActions ? objectText(member as JsonObject, texts, STATUS) : setText(member, texts)
}
