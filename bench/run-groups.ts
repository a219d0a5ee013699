/** @module Runs groups of rows one after the other: a group that fails does not affect the results of others. */
import type { BenchGroup } from './bench.ts'
import type { BenchOptions } from './options.ts'
import { type Row, selectRows } from './report.ts'

export interface Results {
  readonly rows: Row[]
  /** Groups that cannot run here, with the reason. */
  readonly skipped: string[]
  /** Groups that failed, with the error. */
  readonly broken: string[]
}

export async function runGroups(
  groups: readonly BenchGroup[],
  options: BenchOptions,
  say: (text: string) => void,
): Promise<Results> {
  const results: Results = { rows: [], skipped: [], broken: [] }
  for (const group of groups) {
    const startedMs = performance.now()
    try {
      await runGroup(group, options, results)
    } catch (error) {
      say(`${group.name} broke: ${error instanceof Error ? error.stack : String(error)}`)
      results.broken.push(`${group.name} (${error instanceof Error ? error.message : String(error)})`)
    }
    say(`${group.name}: ${((performance.now() - startedMs) / 1000).toFixed(0)} s`)
  }
  return results
}

async function runGroup(group: BenchGroup, options: BenchOptions, { rows, skipped }: Results): Promise<void> {
  const opened = await group.open(options)
  if ('skipped' in opened) {
    skipped.push(`${group.name} (${opened.skipped})`)
    return
  }
  await using bench = opened
  for (let round = 0; round < options.rounds; round += 1) await bench.round()
  rows.push(...selectRows(bench.rows(), options.only))
}
