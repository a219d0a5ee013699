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

/** The part of a second that a measurement without a client takes. */
const DIRECT_SHARE = 3

/** Length of a measurement in this process: shorter, for there is no load to build up. */
export function directMs({ seconds }: Pick<BenchOptions, 'seconds'>): number {
  return (seconds * 1000) / DIRECT_SHARE
}
