/** @module The keys of a data folder, from a file of mode 0600 or from the same text in the environment. */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { linkNewFile, replaceFile } from './durable-file.ts'
import { formatLedgerKeys, KeyFileError, type LedgerKeys, parseLedgerKeys } from './ledger-keys.ts'
import { type KeyWrapping, unwrapText, unwrapTextLater, wrapText } from './wrapped-keys.ts'

export { createLedgerKeys, KeyFileError, type LedgerKeys, verifierKey } from './ledger-keys.ts'

/** Far larger than a ring rotated daily for years; a wrong path must not exhaust the memory. */
const KEY_FILE_MAX_BYTES = 1024 * 1024
const ANY_OF_OTHERS = 0o077
const ANY_BUT_GROUP_READS = 0o037
const ROOT = 0

/** Reads and checks a key file; `wrapping` opens one that is wrapped. Throws `KeyFileError`, whose message says what to do and contains no secret. */
export function readKeyFile(path: string, wrapping?: KeyWrapping): LedgerKeys {
  return parseLedgerKeys(unwrapText(readGuarded(path), { source: path, wrapping }), path)
}

/** `readKeyFile` of a wrapped file without blocking the thread on its program. */
export async function readWrappedKeyFile(path: string, wrapping: KeyWrapping): Promise<LedgerKeys> {
  return parseLedgerKeys(await unwrapTextLater(readGuarded(path), { source: path, wrapping }), path)
}

/** Keys from a setting such as COUNTERSIGN_KEYS, in the form of the key file. Throws `KeyFileError`. */
export function readKeysFromText(text: string): LedgerKeys {
  return parseLedgerKeys(text, 'the text of the keys')
}

/** Writes a key file that must not exist yet. The file is durable on return, and a crash leaves it complete or absent. Throws `KeyFileError`. */
export function writeNewKeyFile(path: string, keys: LedgerKeys, wrapping?: KeyWrapping): void {
  if (linkNewFile(path, fileText(keys, wrapping))) return
  throw new KeyFileError(
    'key-file-exists',
    `${path} exists already; keys are never overwritten: move the file away first`,
  )
}

/** Replaces a key file, durably and in one step: a crash leaves the old file or the new one. */
export function replaceKeyFile(path: string, keys: LedgerKeys, wrapping?: KeyWrapping): void {
  replaceFile(path, fileText(keys, wrapping))
}

function fileText(keys: LedgerKeys, wrapping: KeyWrapping | undefined): string {
  const text = formatLedgerKeys(keys)
  return wrapping === undefined ? text : wrapText(text, wrapping)
}

/**
 * Whether other users may read or write a file of secrets. Its group and all others must have no access, except that the group may read a
 * file owned by root, as Kubernetes mounts secrets for a group and systemd passes them (`LoadCredential`). `uid` is that of this process;
 * undefined on Windows, whose modes carry no information.
 *
 * @example
 * isOpenToOthers({ mode: 0o100640, uid: 1000 }, 1000) // true
 */
export function isOpenToOthers(
  { mode, uid: owner }: { readonly mode: number; readonly uid: number },
  uid: number | undefined = process.getuid?.(),
): boolean {
  const isFromRoot = owner === ROOT && uid !== undefined && uid !== ROOT
  return (mode & (isFromRoot ? ANY_BUT_GROUP_READS : ANY_OF_OTHERS)) !== 0
}

function readGuarded(path: string): string {
  const file = openForReading(path)
  try {
    const status = fstatSync(file)
    if (!status.isFile()) throw new KeyFileError('key-file-unreadable', `${path} is not a file`)
    if (isOpenToOthers(status)) {
      throw new KeyFileError('key-file-permissions', `${path} is open to other users; run: chmod 600 ${path}`)
    }
    if (status.size > KEY_FILE_MAX_BYTES)
      throw new KeyFileError('key-file-invalid', `${path} is too large for a key file`)
    return readWhole(file, path)
  } finally {
    closeSync(file)
  }
}

function readWhole(file: number, path: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    const advice = 'look at the disk, and restore the file from its copy'
    throw new KeyFileError('key-file-unreadable', `${path} cannot be read (${reasonOf(cause)}): ${advice}`, { cause })
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function openForReading(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if (isMissing(error)) {
      throw new KeyFileError(
        'key-file-missing',
        `${path} does not exist; start the ledger once to make its keys, or restore it`,
      )
    }
    const advice = 'check its owner, its mode and the limit of open files'
    throw new KeyFileError('key-file-unreadable', `${path} cannot be read (${reasonOf(error)}): ${advice}`, {
      cause: error,
    })
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
