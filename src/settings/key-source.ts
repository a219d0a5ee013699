/** @module The current keys: a key file that is read again when it changes, so that `keys rotate` needs no restart. */
import { existsSync } from 'node:fs'
import type { KeySource } from '../ledger/ports.ts'
import { syncPlaced } from '../signing/durable-file.ts'
import { KeyFileError, readKeyFile, readKeysFromText, readWrappedKeyFile } from '../signing/key-file.ts'
import type { LedgerKeys } from '../signing/ledger-keys.ts'
import type { KeyWrapping } from '../signing/wrapped-keys.ts'
import { keyCommand } from './key-command.ts'
import type { KeyFilePlace, KeyPlace } from './places.ts'
import { reasonOf } from './reason-of.ts'
import { readSettled, watchFile, watchFileLater } from './watch-file.ts'

/**
 * `current` checks the file first, which costs a system call: hot paths cache the value passed to `onChange`. A file that another program opens is
 * checked in the background only.
 */
export type WatchedKeys = KeySource & Disposable

export interface WatchOptions {
  readonly place: KeyFilePlace
  /** The keys as they were read first. */
  readonly keys: LedgerKeys
  /** Default one second. */
  readonly pollMs?: number
  /** Called if the changed file cannot be read; the keys in use then stay in use. */
  readonly onError: (error: unknown) => void
}

/** The keys that a ledger seals with; a key file is made durable first. Undefined if there is no key file. Throws `KeyFileError` if the file cannot be used. */
export function readKeys(place: KeyPlace): LedgerKeys | undefined {
  try {
    return place.kind === 'text' ? readKeysFromText(place.text) : readSettled(place.path, durableReader(place)).value
  } catch (error) {
    if (error instanceof KeyFileError && error.code === 'key-file-missing') return undefined
    throw error
  }
}

/** The keys. Throws `KeyFileError`, also if the file is missing. */
export function requireKeys(place: KeyPlace): LedgerKeys {
  return place.kind === 'text' ? readKeysFromText(place.text) : readKeyFile(place.path, wrappingOf(place))
}

/** What encrypts the key file; undefined if nothing does. */
export function wrappingOf({ command }: KeyFilePlace): KeyWrapping | undefined {
  return command && keyCommand(command)
}

/** Keys that never change, such as those from the environment. */
export function fixedKeys(keys: LedgerKeys): WatchedKeys {
  return { current: () => keys, onChange: () => () => {}, [Symbol.dispose]: () => {} }
}

/** Watches the key file: `keys rotate` replaces it, which is noticed within a second. */
export function watchKeyFile({ place, keys, ...options }: WatchOptions): WatchedKeys {
  const { path } = place
  const wrapping = wrappingOf(place)
  if (wrapping === undefined) return watchFile({ ...options, path, value: keys, read: durableReader(place) })
  const read = async (): Promise<LedgerKeys> => {
    syncKeys(path)
    return await readWrappedKeyFile(path, wrapping)
  }
  return watchFileLater({ ...options, path, value: keys, read })
}

/**
 * Reads the key file after an fsync: events sealed with a key that a power failure destroys could never be verified. Throws `KeyFileError`, also if the sync
 * fails.
 */
function durableReader(place: KeyFilePlace): (path: string) => LedgerKeys {
  const wrapping = wrappingOf(place)
  return (path) => {
    syncKeys(path)
    return readKeyFile(path, wrapping)
  }
}

function syncKeys(path: string): void {
  if (!existsSync(path)) return
  try {
    syncPlaced(path)
  } catch (cause) {
    const reason = reasonOf(cause)
    const rule = 'a key that a power cut may take away seals nothing'
    throw new KeyFileError(
      'key-file-unreadable',
      `${path} cannot be made durable (${reason}), and ${rule}: look at the disk and the limit of open files`,
      { cause },
    )
  }
}
