/**
 * @module Which key of a log the reader has: named on the command line, pinned in a file of the reader's own, or of the reader's own ledger.
 * A key that comes along with what it should prove is none, nor is one in a folder that is merely the working directory.
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { type NoteVerifier, noteVerifier, parseVerifierKey } from '../merkle/note-key.ts'
import { parseNote } from '../merkle/signed-note.ts'
import type { Settings } from '../settings/config.ts'
import { readKeys } from '../settings/key-source.ts'
import { KeyFileError } from '../signing/key-file.ts'
import { type LedgerKeys, logKeyChain } from '../signing/ledger-keys.ts'
import { successionsIn } from '../verify/bundle/verifier-keys.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'

/** What the reader knows of the keys of logs that followed each other. */
export interface ReaderPins {
  /** Verifier keys, of one log in the order in which they followed each other. */
  readonly pinned: readonly string[]
  /** Signed notes. */
  readonly successions: readonly string[]
}

export interface ReaderKey {
  readonly verifier: NoteVerifier
  /** Where it was found, for people. */
  readonly from: string
}

/** The reader's key of a log. `keyId` is the one that the file at hand claims. Undefined: the reader has none for that log. */
export type FindReaderKey = (name: string, keyId?: string) => ReaderKey | undefined

/** Whose the thing to be verified is: the store that was requested is the reader's, exports and bundles may be anybody's. */
export type Origin = 'own-store' | 'foreign'

/** Throws `CliFailure` for what is not a key or a file of keys. */
export function readerKeys({ text, settings }: Arguments, origin: Origin): FindReaderKey {
  const named = text('key')
  if (named !== undefined) return namedKeys(named)
  const isNamed = settings.keysFrom === 'named'
  const pinned = pinnedKeys(settings)
  const keys = ownKeys(settings, origin)
  const keyFile = keyFileName(settings)
  return (name, keyId) => {
    const known = isNamed ? undefined : keyAmong(pinned, name, keyId)
    if (known !== undefined || keys === undefined) return known
    const own = logKeyChain(keys).map((key) => noteVerifier(name, key))
    const verifier = own.find((each) => each.keyId === keyId) ?? noteVerifier(name, keys.checkpointKey)
    // A key file that merely lies in the data folder says nothing about other ledgers.
    return isNamed || keyId === undefined || keyId === verifier.keyId ? { verifier, from: keyFile } : undefined
  }
}

/**
 * The ledger's keys, where the reader can mean them: what is foreign is checked with a key file only if that, or its folder, was named.
 * Undefined where there are none. Throws `CliFailure` where the file that was named is missing or cannot be used.
 */
export function ownKeys(settings: Settings, origin: Origin): LedgerKeys | undefined {
  const { keys, keysFrom } = settings
  if (origin === 'foreign' && keysFrom === 'working-directory') return undefined
  const isNamed = keysFrom === 'named'
  try {
    const found = readKeys(keys)
    if (found === undefined && isNamed) throw usageFailure(`the key file ${keyFileName(settings)} does not exist`)
    return found
  } catch (error) {
    if (error instanceof KeyFileError) throw new CliFailure(error.message, isNamed ? EXIT.usage : EXIT.unproven)
    throw error
  }
}

export function keyFileName({ keys }: Settings): string {
  return keys.kind === 'file' ? keys.path : 'COUNTERSIGN_KEYS'
}

/** Says so where a key file lies in the working directory and is not believed. */
export function unusedKeyFile(settings: Settings, { text }: Arguments): string | undefined {
  const { keys, keysFrom, data } = settings
  const isUnused = keysFrom === 'working-directory' && keys.kind === 'file' && existsSync(keys.path)
  if (!isUnused || text('key') !== undefined) return undefined
  return `the key file ${keys.path} was not used: it is in the working directory, where whoever made this may have put it; if it is yours, add --data ${data}`
}

/** Of the same keys as `readerKeys` finds. Throws `CliFailure` as it does. */
export function readerPins({ text, settings }: Arguments, origin: Origin): ReaderPins {
  const named = text('key')
  if (named !== undefined) return parseVerifierKey(named) === undefined ? pinsIn(named) : NO_PINS
  const own = (ownKeys(settings, origin)?.formerLogKeys ?? []).map(({ succession }) => succession)
  const { knownKeys, keysFrom } = settings
  const pins = keysFrom === 'named' || knownKeys === undefined ? NO_PINS : pinsIn(knownKeys)
  return { pinned: pins.pinned, successions: [...pins.successions, ...own] }
}

const NO_PINS: ReaderPins = { pinned: [], successions: [] }

/** Of a file of keys; nothing where there is none. */
export function pinsIn(path: string): ReaderPins {
  if (!existsSync(path)) return NO_PINS
  const successions = successionsIn(readFileSync(path, 'utf8').split('\n'))
  return { pinned: keysIn(path).map(({ verifier }) => verifier.text), successions }
}

function namedKeys(named: string): FindReaderKey {
  const verifier = parseVerifierKey(named)
  if (verifier !== undefined) return () => ({ verifier, from: '--key' })
  if (!existsSync(named)) throw usageFailure('--key takes a verifier key, or a file with one a line')
  const keys = keysIn(named)
  if (keys.length === 0) throw usageFailure(`--key: ${named} holds no verifier key`)
  return (name, keyId) => keyAmong(keys, name, keyId)
}

/** A log whose key was rotated has more than one: the one with that id, or else the newest, which stands last. */
function keyAmong(keys: readonly ReaderKey[], name: string, keyId: string | undefined): ReaderKey | undefined {
  const ofLog = keys.filter(({ verifier }) => verifier.name === name)
  return ofLog.find(({ verifier }) => verifier.keyId === keyId) ?? ofLog.at(-1)
}

/** The reader's key for a signed note of the log of this name: one that signed it, where the reader has that. */
export function keyForNote(findKey: FindReaderKey, name: string, note: string): ReaderKey | undefined {
  const own = (parseNote(note)?.signatures ?? []).filter((each) => each.name === name)
  const found = own.map(({ keyId }) => ({ keyId, key: findKey(name, keyId) }))
  return found.find(({ keyId, key }) => key?.verifier.keyId === keyId)?.key ?? findKey(name)
}

const OTHERS_MAY_WRITE = 0o022

/** Throws `CliFailure` for a file that others could have written into. */
export function pinnedKeys({ knownKeys }: Settings): readonly ReaderKey[] {
  if (knownKeys === undefined || !existsSync(knownKeys)) return []
  if ((statSync(knownKeys).mode & OTHERS_MAY_WRITE) !== 0)
    throw usageFailure(
      `others may write into ${knownKeys}: look through its keys, then make it yours with "chmod 600 ${knownKeys}"`,
    )
  return keysIn(knownKeys)
}

/** One verifier key a line; empty lines and those that begin with `#` are passed over. Throws `CliFailure` for any other line. */
function keysIn(path: string): readonly ReaderKey[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.flatMap((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return []
    const verifier = parseVerifierKey(line.trim())
    if (verifier === undefined) throw usageFailure(`${path}: line ${index + 1} is no verifier key`)
    return [{ verifier, from: path }]
  })
}
