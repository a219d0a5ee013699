/**
 * @module The store that a test opens its ledger on. `COUNTERSIGN_TEST_STORE` names it: `memory`, `sqlite`, `postgres` (a schema
 * of the test's own), or `eventstoredb`, which is a protocol node of the test's own, or with `EVENTSTORE_URL` set the real server there. That
 * one is shared and never empty, and so is with `COUNTERSIGN_TEST_SHARED=1` one schema or node for all tests of a process
 * (`shared-test-store.ts`): it has one identity and so one key file, and each test takes tenants of its own.
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
import { newPostgresUrl, openNewPostgresStore } from './postgres-store.ts'
import { filledPlace, openBesideNeighbour, openPlace, type SharedPlace } from './shared-test-store.ts'
import { tempFolder } from './temp-folder.ts'
import { wrapStore } from './wrap-store.ts'

const KINDS = ['memory', 'sqlite', 'postgres', 'eventstoredb'] as const
export type TestStoreKind = (typeof KINDS)[number]

/** A real server's URL; empty where there is none. */
export const SERVER_URL = process.env.EVENTSTORE_URL ?? ''
/** Of the logs of a ledger that tests found. */
export const ORIGIN = 'ledger.example'
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

/** Whether tests share one store that keeps everything between them. */
export function isSharedServer(kind = testStoreKind('memory')): boolean {
  if (kind === 'eventstoredb' && SERVER_URL !== '') return true
  return (kind === 'postgres' || kind === 'eventstoredb') && process.env.COUNTERSIGN_TEST_SHARED === '1'
}

/** A tenant without any events: the name itself, where the store is the test's own. */
export function freshTenant(name: string, kind = testStoreKind('memory')): string {
  if (!isSharedServer(kind)) return name
  namesTaken += 1
  return `${name}-${OWN_NAMES}-${namesTaken}`
}

let ofThisTest = new Map<string, string>()

/** The tenant of this name of the test that opened a store last: on a shared one nobody else has it. */
export function ownTenant(name: string): string {
  const own = ofThisTest.get(name) ?? freshTenant(name)
  ofThisTest.set(name, own)
  return own
}

/** A file has one writer, which its lock sees to: two ledgers on it are no test of theirs. */
export function hasManyWriters(kind = testStoreKind('memory')): boolean {
  return kind !== 'sqlite'
}

/** A store of the backend under test, and with it tenants of the test's own. What it stands on goes with it. */
export async function openTestStore(kind = testStoreKind('memory')): Promise<EventStore> {
  ofThisTest = new Map()
  return isSharedServer(kind) ? openBesideNeighbour(await sharedPlace(kind)) : openUnsharedStore(kind)
}

/** The store that tests share, with nobody who writes to it meanwhile; streams of the test's own are named by `ownStream`. */
export async function openFilledStore(kind: TestStoreKind): Promise<EventStore> {
  ofThisTest = new Map()
  return openPlace(await sharedPlace(kind))
}

/** `run-acme.r1` under a name that nobody else has where tests share a store: another tenant's. */
export function ownStream(name: string): string {
  const [tenant = '', ...rest] = name.split('.')
  return [ownTenant(tenant), ...rest].join('.')
}

/** An empty store of that backend, whatever other tests share: for a ledger whose keys change. */
export async function openUnsharedStore(kind = testStoreKind('memory')): Promise<EventStore> {
  if (kind === 'memory') return openMemoryStore()
  if (kind === 'sqlite') {
    const folder = tempFolder()
    return withEnd(await openSqliteStore({ path: folder.file('store.db') }), () => folder[Symbol.dispose]())
  }
  if (kind === 'postgres') return openNewPostgresStore()
  const node = await startNode()
  const store = await openEventStoreDbStore({ url: node.url, canonical: canonicalJson })
  return withEnd(store, () => node[Symbol.asyncDispose]())
}

/** Then a new one: every ledger that is opened reads all that there is. */
const EVENTS_A_PLACE = 1_200
let place: SharedPlace | undefined

async function sharedPlace(kind: TestStoreKind): Promise<SharedPlace> {
  if (place === undefined || place.events() > EVENTS_A_PLACE) place = await newPlace(kind)
  return place
}

async function newPlace(kind: TestStoreKind): Promise<SharedPlace> {
  const named = (name: string): string => freshTenant(name, kind)
  const url = await sharedUrl(kind)
  return await filledPlace({ url, keys: testStoreKeys(kind), origin: ORIGIN, freshTenant: named })
}

async function sharedUrl(kind: TestStoreKind): Promise<string> {
  if (kind === 'postgres') return newPostgresUrl()
  if (SERVER_URL !== '') return SERVER_URL
  const node = await startNode()
  node.unref()
  return node.url
}

let keysOfProcess: LedgerKeys | undefined

/** Keys for a ledger on that store; on one of its own other ones than those of the ledger before. */
export function testStoreKeys(kind = testStoreKind('memory')): LedgerKeys {
  if (!isSharedServer(kind)) return newTestKeys()
  keysOfProcess ??= SERVER_URL === '' ? newTestKeys() : readKeyFile(sharedKeyFile())
  return keysOfProcess
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
 * The keys of the one ledger on the server of `EVENTSTORE_URL`: `COUNTERSIGN_TEST_KEYS`, else a file in the system's temporary folder, made by the first
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
