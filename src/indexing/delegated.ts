/** @module A file that follows the store, written by this thread at first and by another one later: one object to those who use it. */
import type { DerivedFile } from '../store/derived-file.ts'

export class HandedOver<T extends DerivedFile> {
  /** Disposing it closes what is open here. */
  readonly file: T
  readonly #listeners = new Set<() => void>()
  #current: T
  /** Members that do not go to the file any more. */
  #instead: Partial<T> = {}

  constructor(own: T) {
    this.#current = own
    this.#listen()
    this.file = new Proxy({} as T, { get: (_, name) => this.#member(name) })
  }

  /**
   * Closes the file here, and from now on reads it as `beside` does; `instead` replaces members, such as those that write. What is at hand of the
   * file is forgotten, as after it was rebuilt: from here on it changes silently.
   */
  handOver(beside: T, instead: Partial<T>): void {
    this.#current[Symbol.dispose]()
    this.#current = beside
    this.#instead = instead
    this.#listen()
    this.#renewed()
  }

  #listen(): void {
    this.#current.onRenewed(() => this.#renewed())
  }

  #renewed(): void {
    for (const listener of [...this.#listeners]) listener()
  }

  #member(name: string | symbol): unknown {
    if (name === 'onRenewed') return (listener: () => void) => this.#onRenewed(listener)
    const value: unknown = Reflect.get(this.#instead, name) ?? Reflect.get(this.#current, name)
    return typeof value === 'function' ? value.bind(this.#current) : value
  }

  #onRenewed(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
