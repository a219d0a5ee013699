/** @module A ledger in this process on a store file, as a program that embeds it would open one. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from '../schemas/commands.ts'
import type { Policy } from '../schemas/policy.ts'
import { createLedger } from '../src/ledger/create-ledger.ts'
import type { Caller, Ledger, Outcome } from '../src/ledger/ledger.ts'
import type { WorkQueue } from '../src/resources/work-queue.ts'
import { KEY_FILE, STORE_FILE, VIEWS_FILE } from '../src/settings/places.ts'
import { createLedgerKeys, readKeyFile, writeNewKeyFile } from '../src/signing/key-file.ts'
import type { LedgerKeys } from '../src/signing/ledger-keys.ts'
import type { EventStore } from '../src/store/event-store.ts'
import { openSqliteLogs } from '../src/store/sqlite/sqlite-log.ts'
import { openSqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { openSqliteViews } from '../src/store/sqlite/sqlite-views.ts'
import { envelopeOf } from './envelopes.ts'

export const CALLER: Caller = { tenant: 'default', actor: 'bench' }

export interface LocalLedger extends AsyncDisposable {
  readonly ledger: Ledger
  readonly store: EventStore
  readonly keys: LedgerKeys
}

export interface LocalLedgerOptions {
  /** Views start empty, in memory: all folds and lists are rebuilt. */
  readonly freshViews?: boolean
  /** Queue in whose turns large handoffs are decided; if absent, each is decided without pauses. */
  readonly work?: WorkQueue
  /** File of the Merkle logs, and the delay of their checkpoints in milliseconds (0: on request); if absent, no logs are kept. */
  readonly logs?: { readonly path: string; readonly maxDelayMs: number }
}

/** Opens the data folder, which a server can open afterwards. */
export async function openLocalLedger(folder: string, options: LocalLedgerOptions = {}): Promise<LocalLedger> {
  mkdirSync(folder, { recursive: true })
  const keys = keysOf(join(folder, KEY_FILE))
  const store = await openSqliteStore({ path: storeFile(folder) })
  const views = openSqliteViews({ path: options.freshViews === true ? ':memory:' : join(folder, VIEWS_FILE) })
  const logStore = options.logs && openSqliteLogs({ path: options.logs.path })
  const ledger = await createLedger({
    store,
    views,
    keys: { current: () => keys, onChange: () => () => {} },
    ...(options.work && { work: options.work }),
    ...(logStore && { logs: { store: logStore, maxDelayMs: options.logs?.maxDelayMs ?? 0 } }),
  })
  return {
    ledger,
    store,
    keys,
    [Symbol.asyncDispose]: async () => {
      await ledger[Symbol.asyncDispose]()
      views[Symbol.dispose]()
      logStore?.[Symbol.dispose]()
      await store[Symbol.asyncDispose]()
    },
  }
}

export function storeFile(folder: string): string {
  return join(folder, STORE_FILE)
}

function keysOf(path: string): LedgerKeys {
  if (existsSync(path)) return readKeyFile(path)
  const keys = createLedgerKeys(new Date().toISOString(), randomBytes)
  writeNewKeyFile(path, keys)
  return keys
}

export async function startRun(ledger: Ledger, id: string, policy: Policy = {}): Promise<void> {
  await mustExecute(ledger, id, { kind: 'start', body: { id, name: 'bench', policy } })
}

/** Posts one envelope; it is durable when the promise resolves. */
export async function postEnvelope(ledger: Ledger, runId: string, n: number): Promise<void> {
  await mustExecute(ledger, runId, { kind: 'envelope', body: envelopeOf(n) })
}

/** Throws if the command is refused: a measurement of refusals would be meaningless. */
export async function mustExecute(ledger: Ledger, runId: string, command: Command): Promise<void> {
  mustHold(await ledger.execute(CALLER, runId, command, {}))
}

const BATCH = 64

/** Posts many envelopes of one run, in batches. */
export async function postEnvelopes(ledger: Ledger, runId: string, count: number): Promise<void> {
  for (let n = 0; n < count; n += BATCH) {
    const items = Array.from({ length: Math.min(BATCH, count - n) }, (_, i) => ({
      runId,
      command: { kind: 'envelope', body: envelopeOf(n + i) } as const,
    }))
    for (const outcome of await ledger.executeBatch(CALLER, items, {})) mustHold(outcome)
  }
}

function mustHold(outcome: Outcome): void {
  if (!outcome.ok) throw new Error(`the ledger refused: ${outcome.refusal.code} ${outcome.refusal.detail}`)
}
