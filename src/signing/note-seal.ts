/** @module MACs of stored notes, made with the ring's current key and checked with the key of the ring that each MAC names. */
import { createHmac } from 'node:crypto'
import { SYSTEM_TENANT } from '../../schemas/names.ts'
import { currentKey, deriveRunKey, type KeyRing } from './key-ring.ts'
import { sameText } from './same-text.ts'

/** Kind of the notes stored next to the groups of events. */
export const GROUP_NOTES = 'group-notes'

/** `kind` names the type of note; a MAC of one kind is not valid for another. The key's stream name `derived/<kind>` is no name of a run's stream. */
export function ringSeal(ring: () => Pick<KeyRing, 'keys'>, kind: string) {
  const keys = new Map<string, Uint8Array>()
  const macOf = (kid: string, text: string): string | undefined => {
    const secret = keys.has(kid) ? undefined : ring().keys.find((key) => key.kid === kid)?.secret
    if (secret !== undefined) keys.set(kid, deriveRunKey(secret, SYSTEM_TENANT, `derived/${kind}`))
    const key = keys.get(kid)
    return key && createHmac('sha256', key).update(`countersign/${kind}/v1\n`).update(text).digest('base64url')
  }
  return {
    seal: (text: string): string => {
      const { kid } = currentKey(ring())
      return `${kid}.${macOf(kid, text)}`
    },
    holds: (text: string, seal: string): boolean | undefined => {
      const dot = seal.lastIndexOf('.')
      const mac = macOf(seal.slice(0, dot), text)
      return mac === undefined ? undefined : sameText(seal.slice(dot + 1), mac)
    },
  }
}
