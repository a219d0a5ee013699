/** @module Whether somebody else has used the server lately. */

/** Remembers the last two that differ: enough to say of anybody whether another one was there. */
export class RecentUsers {
  readonly #windowMs: number
  #last: { readonly name: string; readonly atMs: number } | undefined
  #other: { readonly name: string; readonly atMs: number } | undefined

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  saw(name: string, nowMs: number): void {
    if (this.#last?.name !== name) this.#other = this.#last
    this.#last = { name, atMs: nowMs }
  }

  /** True where anybody but `name` was seen within the window. */
  othersThan(name: string, nowMs: number): boolean {
    const other = this.#last?.name === name ? this.#other : this.#last
    return other !== undefined && nowMs - other.atMs <= this.#windowMs
  }
}
