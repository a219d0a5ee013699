/** @module A data folder with the seed's runs in it, made under a clock of last night, for a real server to open. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createLedger } from '../../src/ledger/create-ledger.ts'
import { realEffects } from '../../src/ledger/effects.ts'
import { fileGuard, logFileGuard } from '../../src/ledger/identity/file-guard.ts'
import { writeNewKeyFile } from '../../src/signing/key-file.ts'
import { createLedgerKeys } from '../../src/signing/ledger-keys.ts'
import { openSqliteLogs } from '../../src/store/sqlite/sqlite-log.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { openSqliteViews } from '../../src/store/sqlite/sqlite-views.ts'
import { type Seeding, seedDashboard } from './dashboard-seed.ts'

const HOUR_MS = 3_600_000

export interface SeededOptions {
  readonly startMs?: number
  readonly seed?: (seeding: Seeding) => Promise<void>
}

export async function makeSeededFolder(folder: string, options: SeededOptions = {}): Promise<void> {
  let nowMs = options.startMs ?? Date.now() - 9 * HOUR_MS
  const keys = createLedgerKeys(new Date(nowMs).toISOString(), randomBytes)
  writeNewKeyFile(join(folder, 'keys.json'), keys)
  const store = await openSqliteStore({ path: join(folder, 'store.db') })
  const keySource = { current: () => keys, onChange: () => () => {} }
  const views = openSqliteViews({ path: join(folder, 'views.db'), guard: fileGuard(keySource, 'views') })
  const logStore = openSqliteLogs({ path: join(folder, 'log.db'), guard: logFileGuard(keySource) })
  const ledger = await createLedger({
    store,
    views,
    keys: keySource,
    effects: { ...realEffects(), nowMs: () => nowMs, monotonicMs: () => nowMs },
    origin: 'ledger.example',
    logs: { store: logStore, maxDelayMs: 0 },
  })
  const wait = (ms: number): void => {
    nowMs += ms
  }
  try {
    await (options.seed ?? seedDashboard)({ ledger, wait })
    await ledger.logs?.publish()
  } finally {
    await ledger[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
    views[Symbol.dispose]()
    logStore[Symbol.dispose]()
  }
}
