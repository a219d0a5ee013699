/** @module The keys that files beside the store are sealed with: derived from the ring's current key, of no use for anything else. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { SYSTEM_TENANT } from '../../schemas/names.ts'
import { currentKey, deriveRunKey } from '../signing/key-ring.ts'
import type { FileGuard } from '../store/derived-file.ts'
import type { KeySource } from './ports.ts'

/**
 * `file` names the kind of file: what one is sealed with opens no other. A seal under a key that was rotated away does not hold, since a
 * key is rotated because somebody may have it: the file is then made anew.
 */
export function fileGuard(keys: KeySource, file: string): FileGuard {
  const current = currentKey(keys.current().ring)
  // No run's stream is named so, and no disclosure gives this key away.
  const key = deriveRunKey(current.secret, SYSTEM_TENANT, `derived/${file}`)
  const seal = (text: string): string =>
    `${current.kid}.${createHmac('sha256', key).update('countersign/derived-file/v1\n').update(text).digest('base64url')}`
  return {
    rowKey: () => key,
    seal,
    holds: (text, given) => {
      const [a, b] = [Buffer.from(seal(text)), Buffer.from(given)]
      return a.length === b.length && timingSafeEqual(a, b)
    },
  }
}
