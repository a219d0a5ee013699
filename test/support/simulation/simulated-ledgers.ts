/** @module Ledger processes of a simulation: each with a clock of its own that is wrong and jumps, killed and started again at any moment. */
import { v7 as uuidV7 } from 'uuid'
import { createLedger } from '../../../src/ledger/create-ledger.ts'
import type { Command, Ledger, Outcome, RequestInfo } from '../../../src/ledger/ledger.ts'
import type { Effects } from '../../../src/ledger/ports.ts'
import type { LedgerKeys } from '../../../src/signing/ledger-keys.ts'
import type { EventStore } from '../../../src/store/event-store.ts'
import type { ViewStore } from '../../../src/store/view-store.ts'
import { alice, TestKeys } from '../test-ledger.ts'
import type { Scheduler } from './scheduler.ts'
import { linkTo, type Troubles } from './simulated-store.ts'

/** Clocks are wrong by up to this, either way. */
const SKEW_MAX_MS = 20_000
/** Small: runs leave the cache and are loaded again. */
const HOT_RUNS_MAX = 1

/** Keeps nothing: a cold run is folded from its first event. */
const noViews: ViewStore = {
  checkpoint: () => undefined,
  runRow: () => undefined,
  isAuthentic: async () => true,
  noteFile: () => undefined,
  saveRuns: () => true,
  listRuns: () => ({ rows: [] }),
  dueRuns: () => [],
  nextDue: () => undefined,
  carried: () => ({ count: 0, firstEnd: null }),
  faults: () => [],
  unsettled: () => ({ inDoubt: 0, overdue: 0, runs: 0 }),
  note: () => undefined,
  saveNote: () => undefined,
  loadFold: () => undefined,
  saveFold: () => undefined,
  renew: () => undefined,
  onRenewed: () => () => undefined,
  [Symbol.dispose]: () => undefined,
}

export interface SimulatedProcess extends Disposable {
  /** `lost`: the process was killed, and nobody knows how far it had come. */
  ask(runId: string, command: Command, info: RequestInfo): Promise<Outcome | 'lost'>
  /** Revision of the run as this process sees it; undefined where nobody can say now. */
  look(runId: string): Promise<number | undefined>
  kill(): void
  jump(): void
}

export interface ProcessOptions {
  readonly world: Scheduler
  readonly store: EventStore
  readonly troubles: Troubles
  readonly keys: LedgerKeys
}

/** A process that is started again by itself whenever it was killed. */
export async function simulatedProcess(options: ProcessOptions): Promise<SimulatedProcess> {
  const { world } = options
  let skewMs = 0
  const nowMs = (): number => world.nowMs + skewMs
  let life = await startLife(options, nowMs)
  let starting: Promise<unknown> | undefined
  const again = async (): Promise<void> => {
    life = await startLife(options, nowMs)
    starting = undefined
  }
  return {
    ask: async (runId, command, info) => {
      await starting
      const { ledger, killed } = life
      return Promise.race([ledger.execute(alice, runId, command, info), killed])
    },
    look: async (runId) => {
      await starting
      const { ledger, killed } = life
      const seen = await Promise.race([ledger.run(alice, runId), killed])
      return seen === 'lost' || !seen.ok ? undefined : seen.revision
    },
    kill: () => {
      if (starting !== undefined) return
      life.kill()
      life[Symbol.dispose]()
      starting = again()
    },
    jump: () => {
      skewMs = world.below(2 * SKEW_MAX_MS) - SKEW_MAX_MS
    },
    [Symbol.dispose]: () => life[Symbol.dispose](),
  }
}

interface Life extends Disposable {
  readonly ledger: Ledger
  readonly killed: Promise<'lost'>
  readonly kill: () => void
}

async function startLife({ world, store, troubles, keys }: ProcessOptions, nowMs: () => number): Promise<Life> {
  const link = linkTo(store, world, troubles)
  let kill = (): void => undefined
  const killed = new Promise<'lost'>((resolve) => {
    kill = () => {
      link.cut()
      resolve('lost')
    }
  })
  const bytes = (count: number): Uint8Array => Uint8Array.from({ length: count }, () => world.below(256))
  const effects: Effects = {
    nowMs,
    monotonicMs: () => world.nowMs,
    newId: () => uuidV7({ msecs: world.nowMs, random: bytes(16) }),
    newSalt: () => bytes(16),
    random: world.random,
    sleep: (ms) => world.sleep(ms),
  }
  for (;;) {
    try {
      const ledgerOptions = {
        store: link.store,
        views: noViews,
        keys: new TestKeys(keys),
        effects,
        cachedRunsMax: HOT_RUNS_MAX,
      }
      const ledger = await createLedger(ledgerOptions)
      return { ledger, killed, kill, [Symbol.dispose]: () => void ledger[Symbol.asyncDispose]() }
    } catch {
      await world.sleep(10)
    }
  }
}
