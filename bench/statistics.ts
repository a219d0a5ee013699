/** @module Medians and percentiles of samples. */

/** The middle sample; for an even number, the mean of the two middle ones. NaN for no samples. */
export function median(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b)
  const upper = sorted[sorted.length >> 1] ?? Number.NaN
  if (sorted.length % 2 === 1) return upper
  return (upper + (sorted[(sorted.length >> 1) - 1] ?? Number.NaN)) / 2
}

/** Nearest rank; `share` from 0 to 1. NaN for no samples. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Samples by name, one list per name, one sample per round. */
export class Samples {
  readonly #lists = new Map<string, number[]>()

  add(name: string, value: number): void {
    const list = this.#lists.get(name)
    if (list === undefined) this.#lists.set(name, [value])
    else list.push(value)
  }

  has(name: string): boolean {
    return this.#lists.has(name)
  }

  /** Throws `TypeError` if there is no sample of that name: a row must be based on a measurement. */
  of(name: string): readonly number[] {
    const list = this.#lists.get(name)
    if (list === undefined) throw new TypeError(`nothing was measured as "${name}"`)
    return list
  }
}
