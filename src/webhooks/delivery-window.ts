/**
 * @module The pending deliveries, oldest first, with the time of their next attempt. Their number is limited, and the reader stops while the window is full.
 */
import type { Announcement } from './announcement.ts'

/** Once this many deliveries are pending, nothing more is read from the store. */
const FULL_AT = 64

export interface Timings {
  /** Milliseconds from the first failed attempt to the next one; each failure doubles the pause. */
  readonly firstRetryMs: number
  readonly lastRetryMs: number
  /** Age in milliseconds after which an event is given up, if this process has tried it at least `attemptsMin` times. */
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
  /** Time of the event, in milliseconds since 1970. */
  readonly sinceMs: number
  attempts: number
  /** On the monotonic clock. */
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

  /** The oldest delivery that is due; undefined if none is. */
  next(monotonicMs: number): Waiting | undefined {
    return this.#waiting.find(({ dueMs }) => dueMs <= monotonicMs)
  }

  /** The time of the next attempt; undefined if nothing is pending. */
  get nextDueMs(): number | undefined {
    return this.#waiting.length === 0 ? undefined : Math.min(...this.#waiting.map(({ dueMs }) => dueMs))
  }

  remove(one: Waiting): void {
    this.#waiting.splice(this.#waiting.indexOf(one), 1)
  }

  /** `random` is from 0 up to 1. Jitter prevents many senders from retrying at the same time. */
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
