/**
 * @module Reads a disposable file that another thread of this process writes, on a separate read-only connection that is reopened after the file was
 * rebuilt. If damage is found, the owner is asked to rebuild the file.
 */
import { type DerivedFile, DerivedFileRenewedError } from '../derived-file.ts'
import { StoreUnavailableError } from '../event-store.ts'
import {
  AGAIN_MS,
  asUnavailable,
  BUSY_TIMEOUT_MS,
  type DisposableKind,
  isDamage,
  isHalfOpen,
  type OverFile,
  readSchema,
  schemaText,
} from './disposable-file.ts'
import { type Database, openReadOnly } from './open.ts'

export interface BesideOwnerOptions {
  readonly path: string
  /** Asks the owner to rebuild the file. */
  readonly renew: (reason: string) => void
}

export interface BesideOwner<T> {
  readonly file: T & DerivedFile
  /** Opens the file now, if possible, so that its WAL and its shared memory file exist before the disk may become full. */
  readonly open: () => void
  /** Must be called after the owner has rebuilt the file: later reads use the new one. */
  readonly renewed: () => void
}

/** The file is opened at the first call of a member. Calls reject or throw `StoreUnavailableError` if the file cannot be read at present. */
export function openReadOnlyCopy<T extends OverFile>(
  options: BesideOwnerOptions,
  kind: DisposableKind<T>,
): BesideOwner<T> {
  const reading = new Reading(options, kind)
  return {
    file: new Proxy({} as T & DerivedFile, { get: (_, name) => reading.member(name) }),
    open: () => reading.open(),
    renewed: () => reading.renewed(),
  }
}

class Reading<T extends OverFile> implements DerivedFile {
  readonly #options: BesideOwnerOptions
  readonly #kind: DisposableKind<T>
  readonly #listeners = new Set<() => void>()
  #opened: { readonly db: Database; readonly over: T } | undefined
  #isDisposed = false

  constructor(options: BesideOwnerOptions, kind: DisposableKind<T>) {
    this.#options = options
    this.#kind = kind
  }

  /** A member of the object over the file, or of the file itself. */
  member(name: string | symbol): unknown {
    if (name === 'renew') return this.renew.bind(this)
    if (name === 'onRenewed') return this.onRenewed.bind(this)
    if (name === Symbol.dispose) return this[Symbol.dispose].bind(this)
    return (...args: unknown[]) => this.#guarded(name, args)
  }

  renew(reason: string): void {
    this.#options.renew(reason)
    // Later reads do not continue earlier ones, even before the owner has rebuilt the file.
    this.renewed()
  }

  onRenewed(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  open(): void {
    try {
      this.#current()
    } catch {
      // The first read tries again.
    }
  }

  renewed(): void {
    this.#close()
    for (const listener of [...this.#listeners]) listener()
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true
    this.#close()
  }

  #guarded(name: string | symbol, args: readonly unknown[]): unknown {
    const { path } = this.#options
    try {
      const { over } = this.#current()
      return Reflect.apply(Reflect.get(over, name) as () => unknown, over, args)
    } catch (error) {
      if (isHalfOpen(error)) this.#close()
      if (!isDamage(error)) throw asUnavailable(error, path)
      const reason = String(error)
      this.renew(reason)
      throw new DerivedFileRenewedError({ file: path, reason })
    }
  }

  #current(): { readonly over: T } {
    const { path } = this.#options
    if (this.#isDisposed) throw new StoreUnavailableError(`${path} is closed`, AGAIN_MS)
    if (this.#opened !== undefined) return this.#opened
    const db = openReadOnly({ path, busyTimeoutMs: BUSY_TIMEOUT_MS })
    try {
      if (readSchema(db) !== schemaText(this.#kind.schema))
        throw new StoreUnavailableError(`${path} is being rebuilt`, AGAIN_MS)
      this.#opened = { db, over: this.#kind.over(db) }
      return this.#opened
    } catch (error) {
      db.close()
      throw error
    }
  }

  #close(): void {
    this.#opened?.db.close()
    this.#opened = undefined
  }
}
