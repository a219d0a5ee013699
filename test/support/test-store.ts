/**
 * @module The store that a test opens its ledger on. `COUNTERSIGN_TEST_STORE` names it: `memory`, `sqlite`, `postgres` (a schema
 * of the test's own), or `eventstoredb`, which is a protocol
 * node of the test's own, or with `EVENTSTORE_URL` set the real server there. That one is shared and never empty: it has one identity and
 * so one key file, and each test takes tenants of its own.
 */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { createLedgerKeys, readKeyFile, writeNewKeyFile } from '../../src/signing/key-file.ts'
import { createKeyRing } from '../../src/signing/key-ring.ts'
import type { LedgerKeys } from '../../src/signing/ledger-keys.ts'
import type { EventStore } from '../../src/store/event-store.ts'
import { openEventStoreDbStore } from '../../src/store/eventstoredb/eventstoredb-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { startNode } from './eventstoredb-node.ts'
import { openNewPostgresStore } from './postgres-store.ts'
import { tempFolder } from './temp-folder.ts'
import { wrapStore } from './wrap-store.ts'

const KINDS = ['memory', 'sqlite', 'postgres', 'eventstoredb'] as const
export type TestStoreKind = (typeof KINDS)[number]

/** A real server's URL; empty where there is none. */
export const SERVER_URL = process.env.EVENTSTORE_URL ?? ''
/** Names of this process on a shared server: no other process, and no earlier one, has them. */
const OWN_NAMES = `${process.pid.toString(36)}${Date.now().toString(36)}`
let namesTaken = 0

/** The backend under test; `otherwise` where none is named. */
export function testStoreKind(otherwise: TestStoreKind): TestStoreKind {
  const named = process.env.COUNTERSIGN_TEST_STORE ?? ''
  if (named === '') return otherwise
  const kind = KINDS.find((each) => each === named)
  if (kind === undefined) throw new Error(`COUNTERSIGN_TEST_STORE is one of ${KINDS.join(', ')}`)
  return kind
}

/** Whether tests share one server that keeps everything between them. */
export function isSharedServer(kind = testStoreKind('memory')): boolean {
  return kind === 'eventstoredb' && SERVER_URL !== ''
}

/** A tenant without any events: the name itself, where the store is the test's own. */
export function freshTenant(name: string, kind = testStoreKind('memory')): string {
  if (!isSharedServer(kind)) return name
  namesTaken += 1
  return `${name}-${OWN_NAMES}-${namesTaken}`
}

/** A file has one writer, which its lock sees to: two ledgers on it are no test of theirs. */
export function hasManyWriters(kind = testStoreKind('memory')): boolean {
  return kind !== 'sqlite'
}

/** A store of the backend under test. What it stands on goes with it. */
export async function openTestStore(kind = testStoreKind('memory')): Promise<EventStore> {
  if (kind === 'memory') return openMemoryStore()
  if (kind === 'sqlite') {
    const folder = tempFolder()
    return withEnd(await openSqliteStore({ path: folder.file('store.db') }), () => folder[Symbol.dispose]())
  }
  if (kind === 'postgres') return openNewPostgresStore()
  if (SERVER_URL !== '') return openEventStoreDbStore({ url: SERVER_URL, canonical: canonicalJson })
  const node = await startNode()
  const store = await openEventStoreDbStore({ url: node.url, canonical: canonicalJson })
  return withEnd(store, () => node[Symbol.asyncDispose]())
}

/** Keys for a ledger on that store; other ones than those of the ledger before. */
export function testStoreKeys(kind = testStoreKind('memory')): LedgerKeys {
  return isSharedServer(kind) ? readKeyFile(sharedKeyFile()) : newTestKeys()
}

/** A new ring. Key pairs take a millisecond to make, for thousands of ledgers: they come from a pool. */
function newTestKeys(): LedgerKeys {
  const created = new Date().toISOString()
  const place = poolTurns % POOL_SIZE
  poolTurns += 1
  const { tokenKeys, ...keys } = pool[place] ?? createLedgerKeys(created, randomBytes)
  pool[place] = { ...keys, tokenKeys }
  return {
    ...keys,
    ring: createKeyRing(created, randomBytes),
    tokenKeys: tokenKeys.map((key) => ({ ...key, created })),
  }
}

const POOL_SIZE = 16
const pool: LedgerKeys[] = []
let poolTurns = 0

/**
 * The keys of the one ledger on the shared server: `COUNTERSIGN_TEST_KEYS`, else a file in the system's temporary folder, made by the first
 * process that looks for it. Where it is lost the server must start over.
 */
export function sharedKeyFile(): string {
  const name = createHash('sha256').update(SERVER_URL).digest('hex').slice(0, 16)
  const path = process.env.COUNTERSIGN_TEST_KEYS ?? join(tmpdir(), `countersign-test-keys-${name}.json`)
  if (existsSync(path)) return path
  try {
    writeNewKeyFile(path, createLedgerKeys(new Date().toISOString(), randomBytes))
  } catch (error) {
    // Another process was faster.
    if (!existsSync(path)) throw error
  }
  return path
}

function withEnd(store: EventStore, end: () => unknown): EventStore {
  return wrapStore(store, {
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]()
      await end()
    },
  })
}
