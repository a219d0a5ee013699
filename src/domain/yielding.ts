/**
 * @module Cooperative pausing for long synchronous work. Work whose size a caller controls is split into pieces of a counted number of
 * steps, so that the event loop can serve other work in between. The result does not depend on where or for how long the work paused.
 */

/** Yields at each pause and returns the result. */
export type Yielding<T> = Generator<void, T, void>

/** Number of steps between two pauses. A step takes about 100 ns, so a piece takes about half a millisecond. */
export const PIECE_STEPS = 5_000

/** Counts the steps of one piece of work and reports when it is time to pause. */
export class Pauses {
  /** Largest number of steps counted without a pause. */
  most = 0
  /** Total number of steps. */
  total = 0
  #steps = 0

  count(steps: number): void {
    this.#steps += steps
    this.total += steps
  }

  /** Call wherever the work may pause: `if (pauses.due()) yield`. */
  due(): boolean {
    if (this.#steps < PIECE_STEPS) return false
    if (this.#steps > this.most) this.most = this.#steps
    this.#steps = 0
    return true
  }
}

/** Whether the value is unfinished work rather than a result. Results must have no member `next`. */
export function isYielding<T extends object>(made: T | Yielding<T>): made is Yielding<T> {
  return 'next' in made
}

/** Runs work that yields to its end without pausing, for callers with no other work to interleave. */
export function finish<T>(work: Yielding<T>): T {
  for (;;) {
    const next = work.next()
    if (next.done === true) return next.value
  }
}
