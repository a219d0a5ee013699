/** @module Opens the stores by their place: for writing, for reading or for verification. Drivers of database servers are loaded only if needed. */

import { MemoryBudget } from '../resources/memory-budget.ts'
import type { ServerPlace, StorePlace } from '../settings/places.ts'
import { canonicalJson } from '../signing/canonical-json.ts'
import type { KeyRing } from '../signing/key-ring.ts'
import { GROUP_NOTES, ringSeal } from '../signing/note-seal.ts'
import { type EventStore, StoreOpenError, type StoreReader } from '../store/event-store.ts'
import type { ServerScanPage } from '../store/eventstoredb/eventstoredb-reader.ts'
import type { Patience } from '../store/eventstoredb/eventstoredb-store.ts'
import { openMemoryStore } from '../store/memory/memory-store.ts'
import type { NoteScan } from '../store/postgres/note-faults.ts'
import type { PostgresScanPage } from '../store/postgres/postgres-reader.ts'
import type { SchemaStatus } from '../store/postgres/schema-check.ts'
import type { ProjectionServer } from '../store/projection-server.ts'
import type { SharedCopies } from '../store/shared-copies.ts'
import { openRowScan } from '../store/sqlite/row-scan.ts'
import type { RowScan } from '../store/sqlite/scanned-rows.ts'
import { openSqliteReader } from '../store/sqlite/sqlite-reader.ts'
import { openSqliteStore, type SqliteStoreOptions } from '../store/sqlite/sqlite-store.ts'
import { queueWithin, watchQueue } from './compose-memory.ts'

const postgresReader = () => import('../store/postgres/postgres-reader.ts')
const eventStoreDbReader = () => import('../store/eventstoredb/eventstoredb-reader.ts')

/** Seals and checks the notes in which writers attest the events of a store, if the store keeps them. */
export type NotesRing = () => Pick<KeyRing, 'keys'>
/** For a caller that does not search for lost events, or has no keys. */
export const NO_NOTES = undefined

type OpenStoreOptions = Pick<SqliteStoreOptions, 'acceptWalLoss' | 'onWalLoss'> & {
  readonly ring: NotesRing | undefined
  readonly patience?: Patience | undefined
  readonly memory?: MemoryBudget
}

/** Opens the store for writing: as the only owner of a file, or as one of the processes on a server. Throws `StoreOpenError`. */
export async function openStore(place: StorePlace, options: OpenStoreOptions): Promise<EventStore> {
  const { memory = new MemoryBudget(), ring, ...rest } = options
  const store = notedWith(await openWithin(memory, place, rest), ring)
  watchQueue(memory, store)
  return store
}

async function openWithin(
  memory: MemoryBudget,
  place: StorePlace,
  { patience, ...file }: Omit<OpenStoreOptions, 'memory' | 'ring'>,
): Promise<EventStore> {
  switch (place.kind) {
    case 'memory':
      return openMemoryStore()
    case 'sqlite':
      return openSqliteStore({ path: place.path, limits: queueWithin(memory), ...file })
    case 'postgres': {
      const { openPostgresStore } = await import('../store/postgres/postgres-store.ts')
      return openPostgresStore({ url: place.url, limits: queueWithin(memory), ...(patience && { patience }) })
    }
    case 'eventstoredb': {
      const { openEventStoreDbStore } = await import('../store/eventstoredb/eventstoredb-store.ts')
      return openEventStoreDbStore({
        url: place.url,
        canonical: canonicalJson,
        limits: queueWithin(memory),
        ...(patience && { patience }),
      })
    }
  }
}

/** Opens the store for reading, whether or not a process owns it. Throws `StoreOpenError`. */
export async function openReader(place: StorePlace, ring: NotesRing | undefined): Promise<StoreReader> {
  return notedWith(await openReading(place), ring)
}

function notedWith<T extends Pick<EventStore, 'noteWith'>>(store: T, ring: NotesRing | undefined): T {
  if (ring !== undefined) store.noteWith?.(ringSeal(ring, GROUP_NOTES))
  return store
}

async function openReading(place: StorePlace): Promise<StoreReader> {
  if (place.kind === 'sqlite') return openSqliteReader({ path: place.path })
  if (place.kind === 'postgres') {
    const { openPostgresReader } = await postgresReader()
    return openPostgresReader({ url: place.url })
  }
  if (place.kind === 'eventstoredb') {
    const { openEventStoreDbReader } = await eventStoreDbReader()
    return openEventStoreDbReader({ url: place.url, canonical: canonicalJson })
  }
  throw new StoreOpenError('store-unreadable', 'a store in memory can be read by its own process only')
}

/** Opens the copies that processes on this store share; undefined for a kind of store that keeps none. Throws `StoreOpenError`. */
export async function openCopies({ kind, url }: ServerPlace): Promise<SharedCopies | undefined> {
  if (kind !== 'postgres') return undefined
  const { openPostgresCopies } = await import('../store/postgres/postgres-copies.ts')
  return openPostgresCopies(url)
}

/** Reads every row of the store's file, for verification. Throws `StoreOpenError`. */
export function openStoreScan(path: string): RowScan {
  return openRowScan({ path })
}

/** Reads every event of a ledger on a server, for verification. Throws `StoreOpenError` and `StoreUnavailableError`. */
export async function* openServerScan(
  { kind, url }: ServerPlace,
  notes?: NoteScan,
): AsyncGenerator<ServerScanPage | PostgresScanPage, void> {
  if (kind === 'postgres') {
    const { scanPostgres } = await postgresReader()
    yield* scanPostgres({ url, notes })
    return
  }
  const { scanEventStoreDb } = await eventStoreDbReader()
  yield* scanEventStoreDb({ url, canonical: canonicalJson })
}

/** Opens the projections of the server that holds a store. Throws `StoreOpenError`. */
export async function openProjectionServer(url: string): Promise<ProjectionServer> {
  const { openEventStoreDbProjections } = await import('../store/eventstoredb/eventstoredb-projections.ts')
  return openEventStoreDbProjections(url)
}

/**
 * Creates or upgrades the schema of a store on PostgreSQL, and grants append and read to the role `writer`. Throws `StoreOpenError` or the server's own error.
 */
export async function initStore(
  { url }: ServerPlace,
  writer?: string,
): Promise<{ readonly from: number; readonly to: number }> {
  const { initSchemaAt } = await import('../store/postgres/schema-check.ts')
  return await initSchemaAt(url, writer)
}

/** The schema version of a store on PostgreSQL, and how the schema differs from the one that was created. */
export async function storeStatus({ url }: ServerPlace): Promise<SchemaStatus> {
  const { schemaStatusAt } = await import('../store/postgres/schema-check.ts')
  return await schemaStatusAt(url)
}
