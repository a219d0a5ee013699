/** @module A store of the kind under test from which events are taken, and the data folder of the ledgers that are opened on it. */
import type { LedgerKeys } from '../../src/signing/ledger-keys.ts'
import { type FoundBesideKeys, verified } from './acknowledging.ts'
import { type LossyStore, lossyStore, type MediumRow } from './lossy-store.ts'
import { type TempFolder, tempFolder } from './temp-folder.ts'
import { type TestLogs, type TestLogsOptions, testLogs } from './test-logs.ts'
import { SERVER_URL, type TestStoreKind, testStoreKeys, testStoreKind } from './test-store.ts'

export interface LossyPlace extends AsyncDisposable {
  readonly lossy: LossyStore
  readonly folder: TempFolder
  readonly keys: LedgerKeys
  readonly path: string
  readonly kind: TestStoreKind
}

/** Nothing in memory outlives its ledger, and nobody takes events out of a real server. */
export function isLossy(kind = testStoreKind('postgres')): boolean {
  const exists = kind !== 'memory' && !(kind === 'eventstoredb' && SERVER_URL !== '')
  if (!exists) console.log(`skipped: nobody takes events from under ${kind}`)
  return exists
}

export async function lossyPlace(kind = testStoreKind('postgres')): Promise<LossyPlace> {
  if (kind === 'memory') throw new Error('nothing outlives its ledger there')
  const folder = tempFolder()
  const lossy = await lossyStore(kind, folder)
  const dispose = async (): Promise<void> => {
    await lossy[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  }
  const path = folder.file('store.db')
  return { lossy, folder, keys: testStoreKeys(), path, kind, [Symbol.asyncDispose]: dispose }
}

/** A ledger on it. */
export async function openedOn(
  { lossy, folder, keys }: LossyPlace,
  options: Pick<TestLogsOptions, 'acknowledges'> = {},
): Promise<TestLogs> {
  const store = await lossy.open(keys)
  const at = await testLogs({ ...options, folder: folder.path, keys, store }).catch(async (error: unknown) => {
    await store[Symbol.asyncDispose]()
    throw error
  })
  const dispose = async (): Promise<void> => {
    await at[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
  }
  return { ...at, keys: at.keys, [Symbol.asyncDispose]: dispose }
}

export function verdictOn({ lossy, path, keys, kind }: LossyPlace): Promise<FoundBesideKeys> {
  const server = kind === 'postgres' || kind === 'eventstoredb' ? { kind, url: lossy.url } : undefined
  return verified({ path, keys, ...(server && { server }) })
}

export async function rowOn({ lossy }: LossyPlace, stream: string, revision: number): Promise<MediumRow> {
  const found = (await lossy.rows()).find((row) => row.stream === stream && row.revision === revision)
  if (found === undefined) throw new Error(`no event ${stream} @ ${revision}`)
  return found
}
