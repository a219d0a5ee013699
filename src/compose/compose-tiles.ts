/** @module Tiles of the logs for a process that only reads: from the ledger's own file, and from the copy that its processes share on a server. */
import { join } from 'node:path'
import type { Settings } from '../settings/config.ts'
import { fixedKeys, readKeys } from '../settings/key-source.ts'
import { isOnServer, LOG_FILE } from '../settings/places.ts'
import { reasonOf } from '../settings/reason-of.ts'
import type { LogStore } from '../store/log-store.ts'
import { readSqliteLogs } from '../store/sqlite/sqlite-log.ts'
import { copiesFor } from './compose-sharing.ts'
import { openCopies } from './compose-stores.ts'
import { makeReadingFolder } from './reading-folder.ts'

export type ReadTiles = Pick<LogStore, 'leafOf' | 'tile'>

/**
 * Yields the sources one after the other, for a caller that did not find its tile in an earlier one; the caller checks tiles against signed checkpoints. Each
 * source is open until the next one is requested. `onLeftAside` receives the reason if the shared copy cannot be used.
 */
export async function* tilesForReading(
  settings: Settings,
  onLeftAside: (why: string) => void,
): AsyncGenerator<ReadTiles, void> {
  {
    using own = readSqliteLogs({ path: join(settings.data, LOG_FILE) })
    if (own !== undefined) yield ifReadable(own.over)
  }
  if (!isOnServer(settings.store)) return
  using folder = makeReadingFolder()
  const path = folder.file(LOG_FILE)
  if (!(await takeShared(settings, path, onLeftAside))) return
  using shared = readSqliteLogs({ path })
  if (shared !== undefined) yield ifReadable(shared.over)
}

/** Treats a tile on a damaged page as absent. */
function ifReadable(tiles: ReadTiles): ReadTiles {
  const orNothing = <T>(read: () => T): T | undefined => {
    try {
      return read()
    } catch (error) {
      if (error instanceof Error && error.name === 'SqliteError') return undefined
      throw error
    }
  }
  return {
    leafOf: (...place) => orNothing(() => tiles.leafOf(...place)),
    tile: (...place) => orNothing(() => tiles.tile(...place)),
  }
}

/** Writes the copy that is sealed with the ledger's keys to `path`; false if there is no copy, or no key to check it with. */
async function takeShared(
  { store, keys }: Settings,
  path: string,
  onLeftAside: (why: string) => void,
): Promise<boolean> {
  if (!isOnServer(store)) return false
  const known = readKeys(keys)
  if (known === undefined) return false
  try {
    return await copiesFor(() => openCopies(store), fixedKeys(known))(LOG_FILE, path)
  } catch (error) {
    onLeftAside(`the shared copy of ${LOG_FILE} is not used (${reasonOf(error)})`)
    return false
  }
}
