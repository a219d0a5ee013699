/**
 * @module A note next to a sealed file about its content when its last writer vouched for it: the sum of its rows, the file system's state of the file at
 * that time, and the digest of its WAL. While state and digest are unchanged, no other program has written to the file, and its rows need not be read
 * again, neither when it is reopened nor by a process that reads it while another has it open. The note is encrypted and authenticated (AES-256-GCM) under
 * a key that an attacker who edits the file does not have: the sum stays secret, and the note cannot be forged. If the note is lost or damaged, the rows
 * are read once.
 */

import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { closeSync, openSync, readFileSync, readSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { parseJson } from '../../../schemas/json.ts'

/** Suffix appended to the name of the sealed file. */
export const REST_SUFFIX = '.sealed'

export interface Rest {
  readonly sum: bigint
  /** Result of `restState`. */
  readonly state: string
}

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const MAX_BYTES = 4_096
/** SQLite checkpoints a WAL once it reaches 4 MB; it grows larger while a reader holds an old snapshot. */
const LOG_MAX_BYTES = 64 * 1024 * 1024
const LOG_AT_ONCE = 256 * 1024

/**
 * A text that changes whenever a program writes to the file or its WAL, through SQLite or directly; unlike the other values, the change time (ctime)
 * cannot be set.
 */
export function fileState(path: string): string {
  return `${statusOf(path)}\n${logStatus(path)}`
}

/**
 * Like `fileState`, but with a digest of the WAL's bytes: opening the WAL may change its file system state without changing a byte, as SQLite does when
 * run by root. Undefined if the WAL is too long to be read for this purpose, or changes meanwhile.
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

/** A WAL without frames is equivalent to no WAL. */
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
    // The file is gone or unreadable: the digest is unknown.
  } finally {
    if (file !== undefined) closeSync(file)
  }
  return undefined
}

/** Device and inode of the file at this path; '' if there is none. */
export function fileIdentity(path: string): string {
  const status = statSync(path, { throwIfNoEntry: false, bigint: true })
  return status === undefined ? '' : `${status.dev} ${status.ino}`
}

/** Writes the note; keeps the old one if the write fails. */
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
    // The disk is full or read-only: the next process that opens the file reads its rows.
  }
}

/** Undefined if there is no note, or none that is authentic under this key. */
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
