/**
 * @module A world of virtual time in which the seed alone says what happens next: whoever waits for a turn waits here, and one is let go at a
 * time. Real timers and I/O must not be waited for in it.
 */
import { seededRandom } from '../random.ts'

const START_MS = Date.parse('2026-01-01T00:00:00.000Z')
/** Far beyond what any seed takes: who needs more makes no progress. */
const STEPS_MAX = 50_000

interface Timer {
  readonly atMs: number
  readonly wake: () => void
}

export class Scheduler {
  readonly random: () => number
  nowMs = START_MS
  steps = 0
  readonly #waiting: (() => void)[] = []
  readonly #timers: Timer[] = []

  constructor(seed: number) {
    this.random = seededRandom(seed)
  }

  chance(share: number): boolean {
    return this.random() < share
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit)
  }

  /** Resolves at some later step. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  async turns(most: number): Promise<void> {
    for (let left = this.below(most); left > 0; left -= 1) await this.turn()
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#timers.push({ atMs: this.nowMs + ms, wake: resolve }))
  }

  /** Steps until `work` has ended. Throws where nobody can go on, or nobody gets anywhere. */
  async run<T>(work: Promise<T>): Promise<T> {
    let ended = false
    const end = (): void => {
      ended = true
    }
    work.then(end, end)
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve))
      if (ended) return work
      this.steps += 1
      if (this.steps > STEPS_MAX) throw new Error(`no end after ${STEPS_MAX} steps`)
      this.#step()
    }
  }

  #step(): void {
    if (this.#waiting.length > 0) {
      const [wake] = this.#waiting.splice(this.below(this.#waiting.length), 1)
      wake?.()
      return
    }
    const next = this.#timers.reduce<Timer | undefined>(
      (first, each) => (first === undefined || each.atMs < first.atMs ? each : first),
      undefined,
    )
    if (next === undefined) throw new Error('everybody waits for something that nobody does')
    this.#timers.splice(this.#timers.indexOf(next), 1)
    this.nowMs = Math.max(this.nowMs, next.atMs)
    next.wake()
  }
}
