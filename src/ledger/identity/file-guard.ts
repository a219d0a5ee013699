/** @module The keys that files beside the store are sealed with: derived from the ledger's, of no use for anything else. */
import { createHmac, createSecretKey } from 'node:crypto'
import { SYSTEM_TENANT } from '../../../schemas/names.ts'
import { textMacHex } from '../../signing/digests.ts'
import { currentKey, deriveRunKey } from '../../signing/key-ring.ts'
import { sameText } from '../../signing/same-text.ts'
import type { FileGuard } from '../../store/derived-file.ts'
import type { KeySource } from '../ports.ts'

/**
 * `file` names the kind of file: what one is sealed with opens no other. A seal under a key that was rotated away does not hold, since a
 * key is rotated because somebody may have it: the file is then rebuilt.
 */
export function fileGuard(keys: KeySource, file: string): FileGuard {
  const current = currentKey(keys.current().ring)
  // No run's stream is named so, and no disclosure gives this key away.
  return guardUnder(current.kid, deriveRunKey(current.secret, SYSTEM_TENANT, `derived/${file}`))
}

/**
 * The guard of the logs' file, under the key that signs checkpoints: whoever holds that key could sign any log without this file, and
 * a rotation of the ring need not cost it, since making it again means reading the whole history.
 */
export function logFileGuard(keys: KeySource): FileGuard {
  const seed = keys.current().checkpointKey.export({ format: 'jwk' }).d ?? ''
  return guardUnder('log', createHmac('sha256', seed).update('countersign/derived-file/log/v1').digest())
}

function guardUnder(name: string, key: Uint8Array): FileGuard {
  const seal = (text: string): string =>
    `${name}.${createHmac('sha256', key).update('countersign/derived-file/v1\n').update(text).digest('base64url')}`
  const keyObject = createSecretKey(key)
  return {
    rowKey: () => key,
    rowMac: (table, row) => textMacHex(table, keyObject, row),
    seal,
    holds: (text, value) => sameText(value, seal(text)),
  }
}
