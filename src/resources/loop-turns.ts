/**
 * @module Turns of the event loop for large pieces of work that cannot be cut: a body is parsed in one turn and decided on in another, and the
 * items of a batch are spread over as many turns as their bytes need, so that other requests are answered in between.
 */

/** One turn takes on so many bytes, or one piece alone. */
const TURN_BYTES = 64 * 1024
/** Smaller pieces cost less than a turn does. */
const SMALL_BYTES = 8 * 1024

interface Waiting {
  readonly bytes: number
  readonly goOn: () => void
}

export class LoopTurns {
  readonly #soon: (call: () => void) => void
  #bytes = 0
  #scheduled = false
  readonly #line: Waiting[] = []

  constructor(soon: (call: () => void) => void = (call) => void setImmediate(call)) {
    this.#soon = soon
  }

  /** To be called before work on so many bytes: undefined where this turn has room for it, else to be awaited. In the order of the calls. */
  pass(bytes: number): Promise<void> | undefined {
    if (bytes < SMALL_BYTES) return undefined
    this.#schedule()
    if (this.#line.length === 0 && this.#fits(bytes)) {
      this.#bytes += bytes
      return undefined
    }
    return new Promise((goOn) => this.#line.push({ bytes, goOn }))
  }

  /** A later turn, for one slice of work that is cut: no large piece is done in it beside. */
  later(): Promise<void> {
    this.#schedule()
    return new Promise((goOn) => this.#line.push({ bytes: TURN_BYTES, goOn }))
  }

  #fits(bytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= TURN_BYTES
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    this.#soon(() => this.#next())
  }

  #next(): void {
    this.#scheduled = false
    this.#bytes = 0
    for (let next = this.#line[0]; next !== undefined && this.#fits(next.bytes); next = this.#line[0]) {
      this.#line.shift()
      this.#bytes += next.bytes
      next.goOn()
    }
    if (this.#bytes > 0) this.#schedule()
  }
}
