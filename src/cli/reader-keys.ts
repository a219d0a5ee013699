/**
 * @module Finds the reader's key of a log: given on the command line, pinned in the reader's own file, or from the reader's own ledger. A key that comes with
 * the data it should prove is not trusted, nor is one in a folder that merely is the working directory.
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

/** Keys of logs known to the reader, with their successions. */
export interface ReaderPins {
  /** Verifier keys; those of one log in the order of their succession. */
  readonly pinned: readonly string[]
  /** Signed notes. */
  readonly successions: readonly string[]
}

export interface ReaderKey {
  readonly verifier: NoteVerifier
  /** Where the key was found, for people. */
  readonly from: string
}

/** Finds the reader's key of a log; undefined if there is none. `keyId` is the one that the data to be verified claims. */
export type FindReaderKey = (name: string, keyId?: string) => ReaderKey | undefined

/** Owner of the data to be verified: the store in use is the reader's own; exports and bundles may come from anyone. */
export type Origin = 'own-store' | 'foreign'

/** Throws `CliFailure` for a value that is neither a key nor a file of keys. */
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
    // A key file that merely is in the data folder says nothing about other ledgers.
    return isNamed || keyId === undefined || keyId === verifier.keyId ? { verifier, from: keyFile } : undefined
  }
}

/**
 * The ledger's keys, if they may be used: foreign data is checked with a key file only if that file or its folder was named. Undefined if there are none.
 * Throws `CliFailure` if a named file is missing or cannot be used.
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

/** A note for the user if a key file in the working directory was ignored; otherwise undefined. */
export function unusedKeyFile(settings: Settings, { text }: Arguments): string | undefined {
  const { keys, keysFrom, data } = settings
  const isUnused = keysFrom === 'working-directory' && keys.kind === 'file' && existsSync(keys.path)
  if (!isUnused || text('key') !== undefined) return undefined
  return `the key file ${keys.path} was not used: it is in the working directory, where the author of this file may have put it; if it is yours, add --data ${data}`
}

/** Pins and successions of the same keys that `readerKeys` finds. Throws `CliFailure` as it does. */
export function readerPins({ text, settings }: Arguments, origin: Origin): ReaderPins {
  const named = text('key')
  if (named !== undefined) return parseVerifierKey(named) === undefined ? pinsIn(named) : NO_PINS
  const own = (ownKeys(settings, origin)?.formerLogKeys ?? []).map(({ succession }) => succession)
  const { knownKeys, keysFrom } = settings
  const pins = keysFrom === 'named' || knownKeys === undefined ? NO_PINS : pinsIn(knownKeys)
  return { pinned: pins.pinned, successions: [...pins.successions, ...own] }
}

const NO_PINS: ReaderPins = { pinned: [], successions: [] }

/** Pins from a file of keys; empty if there is no file. */
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

/** A log whose key was rotated has several keys: returns the one with this id, otherwise the newest, which is the last. */
function keyAmong(keys: readonly ReaderKey[], name: string, keyId: string | undefined): ReaderKey | undefined {
  const ofLog = keys.filter(({ verifier }) => verifier.name === name)
  return ofLog.find(({ verifier }) => verifier.keyId === keyId) ?? ofLog.at(-1)
}

/** The reader's key for a signed note of this log, preferably one that signed the note. */
export function keyForNote(findKey: FindReaderKey, name: string, note: string): ReaderKey | undefined {
  const own = (parseNote(note)?.signatures ?? []).filter((each) => each.name === name)
  const found = own.map(({ keyId }) => ({ keyId, key: findKey(name, keyId) }))
  return found.find(({ keyId, key }) => key?.verifier.keyId === keyId)?.key ?? findKey(name)
}

const OTHERS_MAY_WRITE = 0o022

/** Throws `CliFailure` for a file that other users can write to. */
export function pinnedKeys({ knownKeys }: Settings): readonly ReaderKey[] {
  if (knownKeys === undefined || !existsSync(knownKeys)) return []
  if ((statSync(knownKeys).mode & OTHERS_MAY_WRITE) !== 0)
    throw usageFailure(
      `others may write into ${knownKeys}: look through its keys, then make it yours with "chmod 600 ${knownKeys}"`,
    )
  return keysIn(knownKeys)
}

/** One verifier key per line; empty lines and those that begin with `#` are ignored. Throws `CliFailure` for any other line. */
function keysIn(path: string): readonly ReaderKey[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.flatMap((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return []
    const verifier = parseVerifierKey(line.trim())
    if (verifier === undefined) throw usageFailure(`${path}: line ${index + 1} is no verifier key`)
    return [{ verifier, from: path }]
  })
}
