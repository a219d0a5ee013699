/** @module The threads that read, for a store in a file; their program is `reader-worker.ts`. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SealFault } from '../ledger/identity/sealer.ts'
import type { Log } from '../ledger/ports.ts'
import { ReaderThreads } from '../reading/reader-threads.ts'
import type { Settings } from '../settings/config.ts'
import { LOG_FILE } from '../settings/places.ts'
import type { ReaderPlaces } from './reader-worker.ts'

/** Undefined in a bundle of CommonJS. */
const HERE: string | undefined = import.meta.url

/** Undefined where none is wanted, where the store is no file, and in a bundled program, which does not carry their program along. */
export function openReaders(
  { store, keys, data, readThreads }: Settings,
  log: Log,
  onFault: (fault: SealFault) => void,
): ReaderThreads | undefined {
  if (readThreads === 0 || store.kind !== 'sqlite' || HERE === undefined) return undefined
  const file = new URL('./reader-worker.js', import.meta.url)
  if (!existsSync(file)) return undefined
  const workerData: ReaderPlaces = { store, keys, logs: join(data, LOG_FILE) }
  return new ReaderThreads({ count: readThreads, file, workerData, log, onFault })
}
