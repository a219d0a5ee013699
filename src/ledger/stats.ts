/** @module Counters of the work of the ledger, for /metrics. */
import type { StoreFault } from '../store/event-store.ts'
import type { LedgerStats } from './ledger-stats.ts'

export type OwnStats = 'appendedEvents' | 'appends' | 'conflicts' | 'refusals' | 'storeFaults' | 'inFlightAppends'

/** The counters that the write path updates. */
export type WriteCounts = Pick<Stats, 'began' | 'settled' | 'conflict' | 'refused'>

export class Stats {
  #appendedEvents = 0
  #appends = 0
  #conflicts = 0
  #inFlight = 0
  #begun = 0
  readonly #refusals: Record<string, number> = {}
  readonly #storeFaults = new Map<string, { readonly operation: string; readonly errno: string; count: number }>()

  /** Number of appends handed to the store so far, whatever their outcome. */
  get appendsBegun(): number {
    return this.#begun
  }

  /** Number of events that this process has made durable. */
  get appendedEvents(): number {
    return this.#appendedEvents
  }

  began(): void {
    this.#inFlight += 1
    this.#begun += 1
  }

  settled(events: number): void {
    this.#inFlight -= 1
    if (events === 0) return
    this.#appends += 1
    this.#appendedEvents += events
  }

  conflict(): void {
    this.#conflicts += 1
  }

  refused(code: string): void {
    this.#refusals[code] = (this.#refusals[code] ?? 0) + 1
  }

  storeFault({ operation, errno }: StoreFault): void {
    const key = `${operation} ${errno}`
    const known = this.#storeFaults.get(key) ?? { operation, errno, count: 0 }
    known.count += 1
    this.#storeFaults.set(key, known)
  }

  snapshot(more: Omit<LedgerStats, OwnStats>): LedgerStats {
    return {
      appendedEvents: this.#appendedEvents,
      appends: this.#appends,
      conflicts: this.#conflicts,
      refusals: { ...this.#refusals },
      storeFaults: [...this.#storeFaults.values()].map((fault) => ({ ...fault })),
      inFlightAppends: this.#inFlight,
      ...more,
    }
  }
}
