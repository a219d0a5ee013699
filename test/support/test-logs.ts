/** @module A real ledger that keeps Merkle logs, over the store under test or a file; it publishes when a test says so. */
import { join } from 'node:path'
import { createLedger } from '../../src/ledger/create-ledger.ts'
import { realEffects } from '../../src/ledger/effects.ts'
import type { Caller, Ledger } from '../../src/ledger/ledger.ts'
import type { Witness } from '../../src/ledger/log/ask-witness.ts'
import { CheckpointFile } from '../../src/ledger/log/checkpoint-file.ts'
import type { StampSettings } from '../../src/ledger/log/checkpoint-stamps.ts'
import type { TenantLogs } from '../../src/ledger/log/tenant-logs.ts'
import type { KeySource, Log } from '../../src/ledger/ports.ts'
import { parseVerifierKey } from '../../src/merkle/note-key.ts'
import { openNote } from '../../src/merkle/signed-note.ts'
import type { LedgerKeys } from '../../src/signing/ledger-keys.ts'
import type { DerivedFileRenewal } from '../../src/store/derived-file.ts'
import type { EventStore } from '../../src/store/event-store.ts'
import type { LogStore } from '../../src/store/log-store.ts'
import { openSqliteLogs } from '../../src/store/sqlite/sqlite-log.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { openSqliteViews } from '../../src/store/sqlite/sqlite-views.ts'
import { ORIGIN, openTestStore, ownTenant, testStoreKeys } from './test-store.ts'

export interface LoggedLine {
  readonly level: string
  readonly fields: object
  readonly message: string
}

export interface TestLogs extends AsyncDisposable {
  readonly ledger: Ledger
  /** Two tenants of this test's own. */
  readonly tenant: string
  readonly other: string
  readonly logs: TenantLogs
  readonly store: EventStore
  readonly logStore: LogStore
  /** As they are now. */
  readonly keys: LedgerKeys
  /** Puts others in their place, as an edit of the key file does. */
  readonly replaceKeys: (keys: LedgerKeys) => void
  readonly lines: readonly LoggedLine[]
  /** Each time the logs' own file was rebuilt. */
  readonly renewals: readonly DerivedFileRenewal[]
  /** A run of `count` handoffs, each with what it used: two events a handoff, after the run's first. */
  readonly fill: (tenant: string, runId: string, count: number) => Promise<void>
}

export interface TestLogsOptions {
  /** A folder for the store, the logs' file and the kept checkpoints; absent: all in memory. */
  readonly folder?: string
  readonly store?: EventStore
  readonly logStore?: LogStore
  readonly keys?: LedgerKeys
  readonly origin?: string
  readonly keep?: boolean
  readonly witnesses?: readonly Witness[]
  readonly stamps?: StampSettings
  /** As a command that acknowledges losses opens it. */
  readonly acknowledges?: boolean
}

export async function testLogs(options: TestLogsOptions = {}): Promise<TestLogs> {
  const { folder } = options
  const source = changingKeys(options.keys ?? testStoreKeys())
  const store = options.store ?? (await openStore(folder))
  const renewals: DerivedFileRenewal[] = []
  const logStore =
    options.logStore ??
    openSqliteLogs({ path: inFolder(folder, 'log.db'), onRenewed: (renewal) => renewals.push(renewal) })
  const views = openSqliteViews({ path: ':memory:' })
  const lines: LoggedLine[] = []
  const kept =
    folder === undefined || options.keep === false
      ? {}
      : { kept: new CheckpointFile(join(folder, 'store.db.checkpoints')) }
  const closeStores = async (): Promise<void> => {
    views[Symbol.dispose]()
    if (options.logStore === undefined) logStore[Symbol.dispose]()
    if (options.store === undefined) await store[Symbol.asyncDispose]()
  }
  let ledger: Ledger
  try {
    ledger = await createLedger({
      store,
      views,
      keys: source,
      effects: realEffects(),
      log: memoryLog(lines),
      origin: options.origin ?? ORIGIN,
      logs: {
        store: logStore,
        maxDelayMs: 0,
        witnesses: options.witnesses ?? [],
        ...kept,
        ...(options.stamps && { stamps: options.stamps }),
        ...(options.acknowledges && { acknowledges: true }),
      },
    })
  } catch (error) {
    await closeStores()
    throw error
  }
  if (ledger.logs === undefined) throw new Error('the ledger keeps no logs')
  return {
    ledger,
    tenant: ownTenant('acme'),
    other: ownTenant('beta'),
    logs: ledger.logs,
    store,
    logStore,
    get keys() {
      return source.current()
    },
    replaceKeys: (keys) => source.replace(keys),
    lines,
    renewals,
    fill: (tenant, runId, count) => fill(ledger, { tenant, runId, count }),
    [Symbol.asyncDispose]: async () => {
      await ledger[Symbol.asyncDispose]()
      await closeStores()
    },
  }
}

function changingKeys(first: LedgerKeys): KeySource & { readonly replace: (keys: LedgerKeys) => void } {
  const listeners = new Set<(keys: LedgerKeys) => void>()
  let keys = first
  return {
    current: () => keys,
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    replace: (changed) => {
      keys = changed
      for (const listener of [...listeners]) listener(changed)
    },
  }
}

function openStore(folder: string | undefined): Promise<EventStore> {
  return folder === undefined ? openTestStore() : openSqliteStore({ path: join(folder, 'store.db') })
}

function inFolder(folder: string | undefined, name: string): string {
  return folder === undefined ? ':memory:' : join(folder, name)
}

function memoryLog(lines: LoggedLine[]): Log {
  const at = (level: string) => (fields: object, message: string) => void lines.push({ level, fields, message })
  return { info: at('info'), warn: at('warn'), error: at('error') }
}

async function fill(
  ledger: Ledger,
  { tenant, runId, count }: { tenant: string; runId: string; count: number },
): Promise<void> {
  const caller: Caller = { tenant, actor: 'tester' }
  await ledger.execute(caller, runId, { kind: 'start', body: { id: runId, name: 'try' } }, {})
  for (let step = 0; step < count; step += 1) {
    const body = { agent: 'writer', payload: { note: `step ${step}` } }
    const usage = { agent: 'writer', usage: { tokens: step } }
    for (const command of [{ kind: 'envelope', body } as const, { kind: 'usage', body: usage } as const]) {
      const outcome = await ledger.execute(caller, runId, command, {})
      if (!outcome.ok) throw new Error(`not accepted: ${JSON.stringify(outcome.refusal)}`)
    }
  }
}

/** The text of a note that opens under the tenant's verifier key, as an auditor would open it. */
export function openedCheckpoint(note: string, verifierKey: string): string {
  const verifier = parseVerifierKey(verifierKey)
  const opened = verifier === undefined ? undefined : openNote(note, [verifier])
  if (opened?.ok !== true) throw new Error('the checkpoint does not open under the key')
  return opened.text
}
