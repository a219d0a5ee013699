/** @module The threads that read, for a store in a file; their program is `reader-worker.ts`. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SealFault } from '../ledger/identity/sealer.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Log } from '../ledger/ports.ts'
import { ReaderThreads } from '../reading/reader-threads.ts'
import type { Settings } from '../settings/config.ts'
import { AUDIT_FILE, LOG_FILE } from '../settings/places.ts'
import type { AuditIndex } from '../store/audit-index.ts'
import type { IndexOwner } from '../store/sqlite/audit-snapshots.ts'
import type { ReaderPlaces } from './reader-worker.ts'

export interface ReadersDeps {
  readonly index: AuditIndex
  /** Told of events that do not verify. */
  readonly ledger: () => Pick<Ledger, 'integrity'> | undefined
}

/** Undefined in a bundle of CommonJS. */
const HERE: string | undefined = import.meta.url

/** Undefined where none is wanted, where the store is no file, and in a bundled program, which does not carry their program along. */
export function openReaders(
  { store, keys, data, readThreads }: Settings,
  log: Log,
  { index, ledger }: ReadersDeps,
): ReaderThreads | undefined {
  if (readThreads === 0 || store.kind !== 'sqlite' || HERE === undefined) return undefined
  const file = new URL('./reader-worker.js', import.meta.url)
  if (!existsSync(file)) return undefined
  const workerData: ReaderPlaces = { store, keys, logs: join(data, LOG_FILE), audit: join(data, AUDIT_FILE) }
  const onFault = (fault: SealFault): void => ledger()?.integrity.reported(fault)
  return new ReaderThreads({ count: readThreads, file, workerData, log, onFault, index: ownerOf(index) })
}

function ownerOf(index: AuditIndex): IndexOwner {
  return {
    vouch: async (damage) => {
      if (damage !== undefined) index.renew(damage)
      return (await index.isAuthentic()) ? index.knownState() : undefined
    },
    opening: async () => index.opening(),
    opened: async () => index.opened(),
  }
}
