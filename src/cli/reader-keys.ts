/**
 * @module Which key of a log the reader has: named on the command line, pinned in the data folder, or of the reader's own ledger. A key that
 * comes along with what it should prove is none.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Settings } from '../config.ts'
import { readKeys } from '../key-source.ts'
import { type NoteVerifier, noteVerifier, parseVerifierKey } from '../merkle/note-key.ts'
import { KeyFileError } from '../signing/key-file.ts'
import type { LedgerKeys } from '../signing/ledger-keys.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { oneLine } from './shown.ts'

export const KNOWN_KEYS_FILE = 'known-keys.txt'

export interface ReaderKey {
  readonly verifier: NoteVerifier
  /** Where it was found, for people. */
  readonly from: string
}

/** The reader's key of a log. `keyId` is the one that the file at hand claims. Undefined: the reader has none for that log. */
export type FindReaderKey = (name: string, keyId?: string) => ReaderKey | undefined

/** Throws `CliFailure` for a key, or a file of keys, that is none; `KeyFileError` for the key file. */
export function readerKeys({ text, settings }: Arguments): FindReaderKey {
  const named = text('key')
  if (named !== undefined) return namedKeys(named)
  const pinned = keysIn(knownKeysPath(settings))
  const explicit = text('keys') !== undefined || (process.env.COUNTERSIGN_KEYS ?? '') !== ''
  const keys = ownKeys(settings, explicit)
  if (keys === undefined && explicit) throw usageFailure(`there is no key file ${text('keys')}`)
  const keyFile = settings.keys.kind === 'file' ? settings.keys.path : 'COUNTERSIGN_KEYS'
  return (name, keyId) => {
    const known = explicit ? undefined : pinned.find(({ verifier }) => verifier.name === name)
    if (known !== undefined || keys === undefined) return known
    const verifier = noteVerifier(name, keys.checkpointKey)
    // A key file that merely lies in the data folder says nothing of other ledgers.
    return explicit || keyId === undefined || keyId === verifier.keyId ? { verifier, from: keyFile } : undefined
  }
}

function ownKeys({ keys }: Settings, explicit: boolean): LedgerKeys | undefined {
  try {
    return readKeys(keys)
  } catch (error) {
    if (error instanceof KeyFileError) throw new CliFailure(error.message, explicit ? EXIT.usage : EXIT.unproven)
    throw error
  }
}

function namedKeys(named: string): FindReaderKey {
  const verifier = parseVerifierKey(named)
  if (verifier !== undefined) return () => ({ verifier, from: '--key' })
  if (!existsSync(named)) throw usageFailure('--key takes a verifier key, or a file with one a line')
  const keys = keysIn(named)
  if (keys.length === 0) throw usageFailure(`--key: ${named} holds no verifier key`)
  return (name) => keys.find((each) => each.verifier.name === name)
}

/** One verifier key a line; empty lines and those that begin with `#` are passed over. Throws `CliFailure` for any other line. */
function keysIn(path: string): readonly ReaderKey[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.flatMap((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return []
    const verifier = parseVerifierKey(line.trim())
    if (verifier === undefined) throw usageFailure(`${path}: line ${index + 1} is no verifier key`)
    return [{ verifier, from: path }]
  })
}

function knownKeysPath({ data }: Settings): string {
  return join(data, KNOWN_KEYS_FILE)
}

/** `countersign keys pin KEY`: from now on what this log signs is checked with it. A log has one key: another one is refused. */
export function pinKey(settings: Settings, text: string): number {
  const verifier = parseVerifierKey(text.trim())
  if (verifier === undefined)
    throw usageFailure('keys pin takes a verifier key, as "countersign checkpoint --key" prints it')
  const path = knownKeysPath(settings)
  const known = keysIn(path).find((each) => each.verifier.name === verifier.name)
  if (known !== undefined && known.verifier.text !== verifier.text)
    throw new CliFailure(
      `another key of ${verifier.name} is pinned in ${path}: ask the operator which is right, and remove the line of the wrong one`,
      EXIT.failed,
    )
  if (known === undefined) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const before = existsSync(path) ? readFileSync(path, 'utf8') : ''
    appendFileSync(path, `${before === '' || before.endsWith('\n') ? '' : '\n'}${verifier.text}\n`, { mode: 0o600 })
  }
  process.stdout.write(`${oneLine(`${verifier.name}+${verifier.keyId} is pinned in ${path}`)}\n`)
  return EXIT.ok
}
