/** @module The keys as they are now: a key file that is read again when it changes, so that `keys rotate` needs no restart. */
import { statSync } from 'node:fs'
import type { KeyPlace } from './config.ts'
import type { KeySource } from './ledger/ports.ts'
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

/** The keys, or undefined where there is no key file. Throws `KeyFileError` for one that cannot be used. */
export function readKeys(place: KeyPlace): LedgerKeys | undefined {
  try {
    return requireKeys(place)
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

  const look = (): void => {
    const now = fingerprint(options.path)
    if (now === seen) return
    seen = now
    try {
      keys = readKeyFile(options.path)
      for (const listener of [...listeners]) listener(keys)
    } catch (error) {
      options.onError(error)
    }
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

function fingerprint(path: string): string {
  const status = statSync(path, { throwIfNoEntry: false, bigint: true })
  return status === undefined ? 'missing' : `${status.ino} ${status.mtimeNs} ${status.size}`
}
