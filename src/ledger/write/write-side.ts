/** @module Assembles the write side of a ledger over one set of cached runs: deciding, sealing and appending, and reading the state of runs. */
import type { MemoryBudget } from '../../resources/memory-budget.ts'
import { cacheWithin } from '../../resources/sized-cache.ts'
import type { EventStore } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { LedgerOptions } from '../ledger-options.ts'
import type { Effects } from '../ports.ts'
import { Queries } from '../read/queries.ts'
import { Reader } from '../read/reader.ts'
import type { WriteCounts } from '../stats.ts'
import type { NotedKeyFile } from '../subjects/erasure-list.ts'
import { SubjectKeys } from '../subjects/subject-keys.ts'
import { ValueStore } from '../values/value-store.ts'
import type { DecideInput } from './decide.ts'
import type { LoadDeps } from './fold-cache.ts'
import { LeaseClock } from './lease-clock.ts'
import { type RunAggregateDeps, RunAggregates } from './run-aggregates.ts'
import { WritePath } from './write-path.ts'

export interface WriteSideOptions
  extends Pick<
    LedgerOptions,
    'tenantPolicy' | 'isOwnerGone' | 'values' | 'cachedRunsMax' | 'work' | 'subjects' | 'erasures'
  > {
  readonly store: EventStore
  readonly views: LoadDeps['views']
  readonly sealer: Sealer
  readonly effects: Effects
  readonly stats: WriteCounts
  readonly memory: MemoryBudget
  readonly ledgerId: string
  readonly knownHead: LoadDeps['knownHead']
  readonly stoppedLog: DecideInput['stoppedLog']
}

export function writeSide(options: WriteSideOptions) {
  const { store, views, sealer, effects, stats, memory, work, ledgerId, tenantPolicy } = options
  const leases = new LeaseClock(effects, cacheWithin(memory, 'leases', 1), options.isOwnerGone)
  const { knownHead, stoppedLog } = options
  const noteKeys = options.erasures && ((file: NotedKeyFile) => options.erasures?.noteKeys(file))
  const subjects =
    options.subjects && new SubjectKeys({ store: options.subjects, sealer, ledgerId, newId: effects.newId, noteKeys })
  const runs = cachedRunsWithin(memory, { store, views, sealer, leases, work, knownHead }, options.cachedRunsMax)
  const values = new ValueStore({ store, sealer, effects, memory })
  const reader = new Reader({ store, runs, sealer, values, subjects })
  const queries = new Queries({ store, runs, reader, sealer, leases, values, subjects })
  const decided = { store, runs, reader, sealer, effects, stats, leases, ledgerId, work, tenantPolicy, values }
  const deciding = { ...decided, stoppedLog, subjects }
  return { runs, reader, queries, subjects, write: new WritePath({ ...deciding, valueLimits: options.values }) }
}

function cachedRunsWithin(memory: MemoryBudget, deps: RunAggregateDeps, maxRuns: number | undefined): RunAggregates {
  const runs = new RunAggregates(deps, { maxBytes: memory.limitOf('hot-runs'), maxRuns })
  memory.watch('hot-runs', () => runs.bytes)
  return runs
}
