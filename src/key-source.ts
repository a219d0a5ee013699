/** @module The keys as they are now: a key file that is read again when it changes, so that `keys rotate` needs no restart. */
import { statSync } from 'node:fs'
import type { KeyPlace } from './config.ts'
import type { KeySource } from './ledger/ports.ts'
import { syncPlaced } from './signing/durable-file.ts'
import { KeyFileError, readKeyFile, readKeysFromText } from './signing/key-file.ts'
import type { LedgerKeys } from './signing/ledger-keys.ts'

/** `current` looks at the file first, which costs a system call: hot paths keep what `onChange` tells them. */
export type WatchedKeys = KeySource & Disposable

export interface WatchOptions {
  readonly path: string
  /** The keys as they were read. */
  readonly keys: LedgerKeys
  /** Default one second. */
  readonly pollMs?: number
  /** A file that cannot be read any more changes nothing: the keys in use stay in use. */
  readonly onError: (error: unknown) => void
}

const POLL_MS = 1_000

/**
 * The keys that a ledger is to seal with, durable in their place; undefined where there is no key file. Throws `KeyFileError` for one that
 * cannot be used.
 */
export function readKeys(place: KeyPlace): LedgerKeys | undefined {
  try {
    return place.kind === 'text' ? readKeysFromText(place.text) : readDurable(place.path).keys
  } catch (error) {
    if (error instanceof KeyFileError && error.code === 'key-file-missing') return undefined
    throw error
  }
}

/** The keys. Throws `KeyFileError`, also where there is no file. */
export function requireKeys(place: KeyPlace): LedgerKeys {
  return place.kind === 'text' ? readKeysFromText(place.text) : readKeyFile(place.path)
}

/** Keys that never change, such as those of the environment. */
export function fixedKeys(keys: LedgerKeys): WatchedKeys {
  return { current: () => keys, onChange: () => () => {}, [Symbol.dispose]: () => {} }
}

/** Looks at the file each second and whenever it is asked to: a rotation replaces the file, so its inode changes too. */
export function watchKeyFile(options: WatchOptions): WatchedKeys {
  const listeners = new Set<(keys: LedgerKeys) => void>()
  let keys = options.keys
  let seen = fingerprint(options.path)
  let failed: string | undefined

  const look = (): void => {
    const now = fingerprint(options.path)
    if (now === seen) return
    try {
      const read = readDurable(options.path)
      seen = read.fingerprint
      keys = read.keys
      failed = undefined
    } catch (error) {
      // A failed sync may pass: the file is looked at again, and told of once.
      const failure = `${now} ${error}`
      if (failure !== failed) options.onError(error)
      failed = failure
      return
    }
    for (const listener of [...listeners]) listener(keys)
  }
  const polling = setInterval(look, options.pollMs ?? POLL_MS).unref()

  return {
    current: () => {
      look()
      return keys
    },
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    [Symbol.dispose]: () => clearInterval(polling),
  }
}

/**
 * The key file as it will still be there after a power cut: events sealed with a key that is not would verify nowhere. Throws
 * `KeyFileError`, or the system's error of a failed sync.
 */
function readDurable(path: string): { readonly keys: LedgerKeys; readonly fingerprint: string } {
  for (;;) {
    const before = fingerprint(path)
    if (before !== MISSING) syncPlaced(path)
    const keys = readKeyFile(path)
    // A rotation in between put another file there, which was not synced.
    if (fingerprint(path) === before) return { keys, fingerprint: before }
  }
}

const MISSING = 'missing'

function fingerprint(path: string): string {
  const status = statSync(path, { throwIfNoEntry: false, bigint: true })
  return status === undefined ? MISSING : `${status.ino} ${status.mtimeNs} ${status.size}`
}
