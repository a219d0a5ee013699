/** @module The keys that seal the files next to the store: derived from the keys of the ledger, and used for nothing else. */
import { createHmac, createSecretKey } from 'node:crypto'
import { SYSTEM_TENANT } from '../../../schemas/names.ts'
import { textMacHex } from '../../signing/digests.ts'
import { currentKey, deriveRunKey } from '../../signing/key-ring.ts'
import { sameText } from '../../signing/same-text.ts'
import type { FileGuard } from '../../store/derived-file.ts'
import type { KeySource } from '../ports.ts'

/**
 * `file` names the kind of file; a key for one kind does not open another. A seal under a rotated key is invalid, because a key is rotated when
 * somebody else may have it; the file is then rebuilt.
 */
export function fileGuard(keys: KeySource, file: string): FileGuard {
  const current = currentKey(keys.current().ring)
  // No stream of a run has this name, so no disclosure gives this key away.
  return guardUnder(current.kid, deriveRunKey(current.secret, SYSTEM_TENANT, `derived/${file}`))
}

/**
 * The guard of the file of the logs, under the key that signs checkpoints. A holder of that key could sign any log without this file, and a rotation
 * of the ring need not invalidate the file, since rebuilding it means reading the whole history.
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
