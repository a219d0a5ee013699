/** @module Seals of notes that stay: under the ring's current key, and checked under whichever key of the ring they name. */
import { createHmac } from 'node:crypto'
import { SYSTEM_TENANT } from '../../schemas/names.ts'
import { currentKey, deriveRunKey, type KeyRing } from './key-ring.ts'
import { sameText } from './same-text.ts'

/** The notes beside the groups of events in a store. */
export const GROUP_NOTES = 'group-notes'

/** `kind` says what the notes are: what one kind is sealed with says nothing in another. No run's stream is named as its key is. */
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
