/**
 * @module What a sealed file held when whoever writes it last said so, in a small file beside it: the sum of its rows, what the file system
 * reported of it then, and the digest of its log. While both are still the same, nobody has written to the file, and its rows need not be
 * read again to know: neither when it is opened again, nor by a process that reads it beside the one that has it open. Encrypted and authenticated (AES-256-GCM), under a key that whoever edits the file has not: the sum stays a secret, and nobody else can
 * vouch for a state. Lost or damaged, it costs one reading of the rows.
 */

import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { closeSync, openSync, readFileSync, readSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { parseJson } from '../../../schemas/json.ts'

/** Put behind the name of the sealed file. */
export const REST_SUFFIX = '.sealed'

export interface Rest {
  readonly sum: bigint
  /** As `restState` gave it. */
  readonly state: string
}

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const MAX_BYTES = 4_096
/** SQLite takes a log back into its file from 4 MB on; it is longer while a reader holds an old snapshot. */
const LOG_MAX_BYTES = 64 * 1024 * 1024
const LOG_AT_ONCE = 256 * 1024

/** Changes whenever anybody writes to the file or its log, through SQLite or past it; the change time cannot be set like the others. */
export function fileState(path: string): string {
  return `${statusOf(path)}\n${logStatus(path)}`
}

/**
 * The same by what the log holds: who opens it may change what the file system says of it, as SQLite does, run by root, and never a byte. Undefined
 * where the log is too long to be read for this, or changes meanwhile.
 */
export function restState(path: string): string | undefined {
  const before = fileState(path)
  const digest = logStatus(path) === '' ? '' : logDigest(path)
  return digest === undefined || fileState(path) !== before ? undefined : `${statusOf(path)}\n${digest}`
}

function statusOf(name: string): string {
  const status = statSync(name, { throwIfNoEntry: false, bigint: true })
  return status === undefined ? '' : `${status.dev} ${status.ino} ${status.size} ${status.mtimeNs} ${status.ctimeNs}`
}

/** A log without frames says as much as none. */
function logStatus(path: string): string {
  const log = `${path}-wal`
  return statSync(log, { throwIfNoEntry: false })?.size ? statusOf(log) : ''
}

function logDigest(path: string): string | undefined {
  let file: number | undefined
  try {
    file = openSync(`${path}-wal`, 'r')
    const hash = createHash('sha256')
    const part = Buffer.alloc(LOG_AT_ONCE)
    for (let at = 0; at <= LOG_MAX_BYTES; ) {
      const read = readSync(file, part, 0, part.length, at)
      if (read === 0) return hash.digest('hex')
      hash.update(part.subarray(0, read))
      at += read
    }
  } catch {
    // Gone meanwhile, or not to be read: nothing is said of it.
  } finally {
    if (file !== undefined) closeSync(file)
  }
  return undefined
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
    const { sum, state } = parseJson(text) as { sum: string; state: string }
    return { sum: BigInt(`0x${sum}`), state }
  } catch {
    return undefined
  }
}

function restKey(rowKey: Uint8Array): Uint8Array {
  return createHmac('sha256', rowKey).update('countersign/derived-file/at-rest/v1').digest()
}
