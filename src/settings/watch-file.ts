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
/** After a failed read that another program takes part in. */
const PAUSE_MS = 5_000

/** Checks the file every second and on each call of `current`; a replaced file is detected by its inode. */
export function watchFile<T>({ path, value, read, pollMs = POLL_MS, onError }: WatchFileOptions<T>): WatchedFile<T> {
  const file = new Content(path, { value, onError })
  const look = (): void => {
    if (!file.isChanged()) return
    try {
      const settled = readSettled(path, read)
      file.accept(settled.value, settled.fingerprint)
    } catch (error) {
      file.reject(error)
    }
  }
  return file.watched({ look, lookNow: look, pollMs })
}

/** Checks the file every second; a changed one is read without blocking the thread, and again after a pause if that fails. */
export function watchFileLater<T>({
  path,
  value,
  read,
  pollMs = POLL_MS,
  onError,
}: Omit<WatchFileOptions<T>, 'read'> & { readonly read: (path: string) => Promise<T> }): WatchedFile<T> {
  const file = new Content(path, { value, onError })
  let nextMs = 0
  let isReading = false
  const look = async (): Promise<void> => {
    if (isReading || performance.now() < nextMs || !file.isChanged()) return
    isReading = true
    const before = fingerprint(path)
    try {
      file.accept(await read(path), before)
    } catch (error) {
      file.reject(error)
      nextMs = performance.now() + PAUSE_MS
    } finally {
      isReading = false
    }
  }
  return file.watched({ look: () => void look(), lookNow: () => undefined, pollMs })
}

/** What was last read of a file. A failure to read it is reported once. */
class Content<T> {
  readonly #path: string
  readonly #onError: (error: unknown) => void
  readonly #listeners = new Set<(value: T) => void>()
  #value: T
  #seen: string
  #failed: string | undefined

  constructor(path: string, { value, onError }: { readonly value: T; readonly onError: (error: unknown) => void }) {
    this.#path = path
    this.#onError = onError
    this.#value = value
    this.#seen = fingerprint(path)
  }

  isChanged(): boolean {
    return fingerprint(this.#path) !== this.#seen
  }

  accept(value: T, seen: string): void {
    this.#seen = seen
    this.#value = value
    this.#failed = undefined
    for (const listener of [...this.#listeners]) listener(value)
  }

  /** The failure may be temporary: the last content stays in use. */
  reject(error: unknown): void {
    const failure = `${fingerprint(this.#path)} ${error}`
    if (failure !== this.#failed) this.#onError(error)
    this.#failed = failure
  }

  watched({ look, lookNow, pollMs }: { look: () => void; lookNow: () => void; pollMs: number }): WatchedFile<T> {
    const polling = setInterval(look, pollMs).unref()
    return {
      current: () => {
        lookNow()
        return this.#value
      },
      onChange: (listener) => {
        this.#listeners.add(listener)
        return () => this.#listeners.delete(listener)
      },
      [Symbol.dispose]: () => clearInterval(polling),
    }
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
