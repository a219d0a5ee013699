/** @module A file that is read again when it changes, so that an edit needs no restart. */
import { statSync } from 'node:fs'

export interface WatchedFile<T> extends Disposable {
  /** The current content: the file is checked first, which costs a system call. */
  readonly current: () => T
  /** Calls `listener` with the new content after each change; returns a function that unsubscribes it. */
  readonly onChange: (listener: (value: T) => void) => () => void
}

export interface WatchFileOptions<T> {
  readonly path: string
  /** The content as it was read first. */
  readonly value: T
  readonly read: (path: string) => T
  /** Default one second. */
  readonly pollMs?: number
  /** Called if the changed file cannot be read; the last content then stays in use. */
  readonly onError: (error: unknown) => void
}

const POLL_MS = 1_000

/** Checks the file every second and on each call of `current`; a replaced file is detected by its inode. */
export function watchFile<T>({
  path,
  value: first,
  read,
  pollMs = POLL_MS,
  onError,
}: WatchFileOptions<T>): WatchedFile<T> {
  const listeners = new Set<(value: T) => void>()
  let value = first
  let seen = fingerprint(path)
  let failed: string | undefined

  const look = (): void => {
    const now = fingerprint(path)
    if (now === seen) return
    try {
      const settled = readSettled(path, read)
      seen = settled.fingerprint
      value = settled.value
      failed = undefined
    } catch (error) {
      // The failure may be temporary: the file is checked again, and the failure is reported once.
      const failure = `${now} ${error}`
      if (failure !== failed) onError(error)
      failed = failure
      return
    }
    for (const listener of [...listeners]) listener(value)
  }
  const polling = setInterval(look, pollMs).unref()

  return {
    current: () => {
      look()
      return value
    },
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    [Symbol.dispose]: () => clearInterval(polling),
  }
}

/** Reads until the same file is in place before and after the read. Throws any error of `read`. */
export function readSettled<T>(
  path: string,
  read: (path: string) => T,
): { readonly value: T; readonly fingerprint: string } {
  for (;;) {
    const before = fingerprint(path)
    const value = read(path)
    if (fingerprint(path) === before) return { value, fingerprint: before }
  }
}

function fingerprint(path: string): string {
  const status = statSync(path, { throwIfNoEntry: false, bigint: true })
  return status === undefined ? 'missing' : `${status.ino} ${status.mtimeNs} ${status.size}`
}
