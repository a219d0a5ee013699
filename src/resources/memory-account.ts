/** @module One share of the memory budget: who takes bytes gives them back, and whoever finds it full is refused or waits. */

/** Gives back what was taken; a second call does nothing. */
export type Release = () => void

interface Waiting {
  readonly bytes: number
  readonly admitted: (release: Release) => void
}

export class MemoryAccount {
  readonly limitBytes: number
  #usedBytes = 0
  #refusals = 0
  /** What each owner holds; only where an owner is named. */
  readonly #byOwner = new Map<string, number>()
  readonly #waiting: Waiting[] = []

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  get refusals(): number {
    return this.#refusals
  }

  get isFull(): boolean {
    return this.#usedBytes >= this.limitBytes
  }

  /**
   * Takes `bytes`, or nothing: then it is undefined. One `owner` holds at most half of the share, so that no tenant alone can fill it. Whoever
   * holds nothing while nobody else does gets what it asks for, whatever the limit: else some requests could never pass.
   */
  take(bytes: number, owner?: string): Release | undefined {
    const owned = owner === undefined ? 0 : (this.#byOwner.get(owner) ?? 0)
    const fits = this.#fits(bytes) && (owned === 0 || owned + bytes <= this.limitBytes / 2)
    if (!fits) {
      this.#refusals += 1
      return undefined
    }
    return this.#taken(bytes, owner)
  }

  /** The same for who may wait: in turn, as room is given back. What waits must be bounded elsewhere. */
  whenFree(bytes: number): Release | Promise<Release> {
    if (this.#waiting.length === 0 && this.#fits(bytes)) return this.#taken(bytes, undefined)
    return new Promise((admitted) => this.#waiting.push({ bytes, admitted }))
  }

  /** Counts what is there already, whether or not it fits: an answer that was made has to be sent. */
  count(bytes: number): Release {
    return this.#taken(bytes, undefined)
  }

  #fits(bytes: number): boolean {
    return this.#usedBytes === 0 || this.#usedBytes + bytes <= this.limitBytes
  }

  #taken(bytes: number, owner: string | undefined): Release {
    this.#change(bytes, owner)
    let held = true
    return () => {
      if (!held) return
      held = false
      this.#change(-bytes, owner)
      this.#admit()
    }
  }

  #change(bytes: number, owner: string | undefined): void {
    this.#usedBytes += bytes
    if (owner === undefined) return
    const owned = (this.#byOwner.get(owner) ?? 0) + bytes
    if (owned === 0) this.#byOwner.delete(owner)
    else this.#byOwner.set(owner, owned)
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift()
      next.admitted(this.#taken(next.bytes, undefined))
    }
  }
}
