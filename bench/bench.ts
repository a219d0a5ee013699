/** @module A group of rows: opened once, measured once per round, and closed. */
import type { BenchOptions } from './options.ts'
import type { Row } from './report.ts'

/** Numerators and denominators of a row are measured in the same round, one directly after the other. */
export interface Bench extends AsyncDisposable {
  readonly round: () => Promise<void>
  readonly rows: () => readonly Row[]
}

export interface BenchGroup {
  readonly name: string
  /** Ids of the rows that the group may yield. */
  readonly ids: readonly string[]
  /** Returns the reason as `skipped` if the group cannot run here. */
  readonly open: (options: BenchOptions) => Promise<Bench | { readonly skipped: string }>
}

const QUICK_SHARE = 100

/** `count` (a number of items, or milliseconds); with `--quick` a hundredth of it, which is enough to see that the bench runs. */
export function scaled({ quick }: Pick<BenchOptions, 'quick'>, count: number): number {
  return quick ? Math.ceil(count / QUICK_SHARE) : count
}

/** Divisor for the length of a measurement without a client. */
const DIRECT_SHARE = 3

/** Milliseconds of a measurement in this process: shorter than others, since no load has to build up. */
export function directMs({ seconds }: Pick<BenchOptions, 'seconds'>): number {
  return (seconds * 1000) / DIRECT_SHARE
}
