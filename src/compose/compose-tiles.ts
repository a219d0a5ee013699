/** @module Tiles of the logs for a process that only reads: those of the ledger's own file, and those that its processes share on a server. */
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
 * One after the other, for whoever did not find what was needed in those before: whoever uses them holds them against what was signed. Each is
 * open until the next one is requested. `onLeftAside` is told why a shared copy is not among them.
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

/** What lies on a damaged page is not there. */
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

/** Puts the copy that the ledger's keys vouch for at `path`; false where there is none, or nobody to tell. */
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
