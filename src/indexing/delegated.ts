/** @module A derived file that this thread writes at first and another thread writes later, behind one object for its users. */
import type { DerivedFile } from '../store/derived-file.ts'

export class HandedOver<T extends DerivedFile> {
  /** Disposing the object closes the connection that is open in this thread. */
  readonly file: T
  readonly #listeners = new Set<() => void>()
  #current: T
  /** Members that are no longer taken from the file. */
  #instead: Partial<T> = {}

  constructor(own: T) {
    this.#current = own
    this.#listen()
    this.file = new Proxy({} as T, { get: (_, name) => this.#member(name) })
  }

  /**
   * Closes the file in this thread; from now on members are taken from `beside`, or from `instead` where it replaces them (such as the members that write).
   * Listeners are notified as after a rebuild, so that they drop what they cached: from now on the file changes without notice.
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
