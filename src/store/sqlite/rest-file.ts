/**
 * @module What a sealed file held when it was last left alone, in a small file beside it: the sum of its rows, and what the file system reported
 * of it then. While the file system still says the same, nobody has written to the file, and its rows need not be read again to know.
 * Encrypted and authenticated (AES-256-GCM), under a key that whoever edits the file has not: the sum stays a secret, and nobody else can
 * vouch for a state. Lost or damaged, it costs one reading of the rows.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'

/** Put behind the name of the sealed file. */
export const REST_SUFFIX = '.sealed'

export interface Rest {
  readonly sum: bigint
  /** As `fileState` gave it. */
  readonly state: string
}

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const MAX_BYTES = 4_096

/** Changes whenever anybody writes to the file or its log, through SQLite or past it; the change time cannot be set like the others. */
export function fileState(path: string): string {
  return [path, `${path}-wal`]
    .map((name) => {
      const status = statSync(name, { throwIfNoEntry: false, bigint: true })
      // A log without frames says as much as none.
      const isEmpty = status === undefined || (status.size === 0n && name !== path)
      return isEmpty ? '' : `${status.dev} ${status.ino} ${status.size} ${status.mtimeNs} ${status.ctimeNs}`
    })
    .join('\n')
}

/** Which file bears this name; '' where none does. */
export function fileIdentity(path: string): string {
  const status = statSync(path, { throwIfNoEntry: false, bigint: true })
  return status === undefined ? '' : `${status.dev} ${status.ino}`
}

/** Leaves the old one in place where it cannot be written. */
export function saveRest(path: string, rowKey: Uint8Array, { sum, state }: Rest): void {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, restKey(rowKey), nonce)
  const text = cipher.update(JSON.stringify({ sum: sum.toString(16), state }), 'utf8')
  const whole = Buffer.concat([nonce, text, cipher.final(), cipher.getAuthTag()])
  const partial = `${path}${REST_SUFFIX}.new`
  try {
    writeFileSync(partial, whole, { mode: 0o600 })
    renameSync(partial, `${path}${REST_SUFFIX}`)
  } catch {
    // A full disk, or one that takes no writes: the next to open the file reads its rows.
  }
}

/** Undefined where there is none, or none that this key vouches for. */
export function readRest(path: string, rowKey: Uint8Array): Rest | undefined {
  try {
    const whole = readFileSync(`${path}${REST_SUFFIX}`)
    if (whole.length > MAX_BYTES || whole.length < NONCE_BYTES + TAG_BYTES) return undefined
    const options = { authTagLength: TAG_BYTES }
    const decipher = createDecipheriv(CIPHER, restKey(rowKey), whole.subarray(0, NONCE_BYTES), options)
    decipher.setAuthTag(whole.subarray(-TAG_BYTES))
    const text = decipher.update(whole.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    const { sum, state } = JSON.parse(text) as { sum: string; state: string }
    return { sum: BigInt(`0x${sum}`), state }
  } catch {
    return undefined
  }
}

function restKey(rowKey: Uint8Array): Uint8Array {
  return createHmac('sha256', rowKey).update('countersign/derived-file/at-rest/v1').digest()
}
