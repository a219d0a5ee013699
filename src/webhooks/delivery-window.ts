/** @module What waits to be delivered, oldest first, and when each of it is tried next. It holds a bounded number: who fills it reads no further. */
import type { Announcement } from './announcement.ts'

/** Once so many wait, nothing more is read from the store. */
const FULL_AT = 64

export interface Timings {
  /** Milliseconds from the first failed attempt to the next one; each doubles the pause. */
  readonly firstRetryMs: number
  readonly lastRetryMs: number
  /** Age in milliseconds from which an event is given up that was tried `attemptsMin` times by this process. */
  readonly giveUpAfterMs: number
  readonly attemptsMin: number
}

const DAY_MS = 86_400_000
export const TIMINGS: Timings = {
  firstRetryMs: 1_000,
  lastRetryMs: 60_000,
  giveUpAfterMs: 3 * DAY_MS,
  attemptsMin: 5,
}

export interface Waiting {
  readonly announcement: Announcement
  readonly stream: string
  readonly revision: number
  /** When it happened: milliseconds since 1970. */
  readonly sinceMs: number
  attempts: number
  /** On the clock that nobody sets. */
  dueMs: number
}

export class DeliveryWindow {
  readonly #timings: Timings
  readonly #waiting: Waiting[] = []

  constructor(timings: Timings) {
    this.#timings = timings
  }

  get isFull(): boolean {
    return this.#waiting.length >= FULL_AT
  }

  get all(): readonly Waiting[] {
    return this.#waiting
  }

  get anyFailed(): boolean {
    return this.#waiting.some(({ attempts }) => attempts > 0)
  }

  add(waiting: Omit<Waiting, 'attempts' | 'dueMs'>): void {
    const isKnown = this.#waiting.some(({ announcement }) => announcement.id === waiting.announcement.id)
    if (!isKnown) this.#waiting.push({ ...waiting, attempts: 0, dueMs: Number.NEGATIVE_INFINITY })
  }

  /** The oldest that is due; undefined where none is. */
  next(monotonicMs: number): Waiting | undefined {
    return this.#waiting.find(({ dueMs }) => dueMs <= monotonicMs)
  }

  /** When the next one is due; undefined where none waits. */
  get nextDueMs(): number | undefined {
    return this.#waiting.length === 0 ? undefined : Math.min(...this.#waiting.map(({ dueMs }) => dueMs))
  }

  remove(one: Waiting): void {
    this.#waiting.splice(this.#waiting.indexOf(one), 1)
  }

  /** `random`: 0 up to 1. Pauses vary, so that many senders do not come back at once. */
  failed(one: Waiting, monotonicMs: number, random: number): void {
    const { firstRetryMs, lastRetryMs } = this.#timings
    const pauseMs = Math.min(firstRetryMs * 2 ** Math.min(one.attempts, 30), lastRetryMs)
    one.attempts += 1
    one.dueMs = monotonicMs + pauseMs * (0.5 + random / 2)
  }

  isGivenUp({ attempts, sinceMs }: Waiting, nowMs: number): boolean {
    return attempts >= this.#timings.attemptsMin && nowMs - sinceMs > this.#timings.giveUpAfterMs
  }
}
