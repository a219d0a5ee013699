/** @module What every group of rows is: opened once, measured once a round, closed. */
import type { BenchOptions } from './options.ts'
import type { Row } from './report.ts'

/** Numerators and denominators of a row are measured in the same round, one right after the other. */
export interface Bench extends AsyncDisposable {
  readonly round: () => Promise<void>
  readonly rows: () => readonly Row[]
}

export interface BenchGroup {
  readonly name: string
  /** Ids of the rows it may give. */
  readonly ids: readonly string[]
  /** A word on why it cannot run here. */
  readonly open: (options: BenchOptions) => Promise<Bench | { readonly skipped: string }>
}

const QUICK_SHARE = 100

/** So many of what is measured, or so many milliseconds; with `--quick` a hundredth: enough to see that it runs. */
export function scaled({ quick }: Pick<BenchOptions, 'quick'>, count: number): number {
  return quick ? Math.ceil(count / QUICK_SHARE) : count
}

/** The part of a second that a measurement without a client takes. */
const DIRECT_SHARE = 3

/** Length of a measurement in this process: shorter, for there is no load to build up. */
export function directMs({ seconds }: Pick<BenchOptions, 'seconds'>): number {
  return (seconds * 1000) / DIRECT_SHARE
}
