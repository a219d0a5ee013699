/**
 * @module Work that pauses. What is as large as what a caller hands over is cut into pieces of a counted number of steps, so that the thread
 * that also writes can do something else in between; what comes of it does not depend on where it paused, nor for how long.
 */

/** Pauses with each `yield`, and returns what came of it. */
export type Paced<T> = Generator<void, T, void>

/** Steps between two pauses: of some 100 ns each, so that a piece takes about half a millisecond. */
export const PIECE_STEPS = 5_000

/** Counts the steps of one piece of work, and says when it is time to pause. */
export class Pauses {
  /** Most steps that were counted without a pause. */
  most = 0
  /** All of them. */
  total = 0
  #steps = 0

  count(steps: number): void {
    this.#steps += steps
    this.total += steps
  }

  /** To be asked wherever the work may pause: `if (pauses.due()) yield`. */
  due(): boolean {
    if (this.#steps < PIECE_STEPS) return false
    if (this.#steps > this.most) this.most = this.#steps
    this.#steps = 0
    return true
  }
}

/** Whether something is still to be worked out. For results that have no member `next`. */
export function isPaced<T extends object>(made: T | Paced<T>): made is Paced<T> {
  return 'next' in made
}

/** Does paced work in one go, for whoever has nothing else to do meanwhile. */
export function finish<T>(work: Paced<T>): T {
  for (;;) {
    const next = work.next()
    if (next.done === true) return next.value
  }
}
