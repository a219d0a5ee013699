/** @module A read-only ledger over a store that another process may own. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createLedger } from '../ledger/create-ledger.ts'
import { silentLog } from '../ledger/effects.ts'
import { fileGuard } from '../ledger/identity/file-guard.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { KeySource } from '../ledger/ports.ts'
import type { Settings } from '../settings/config.ts'
import { fixedKeys, requireKeys } from '../settings/key-source.ts'
import { AUDIT_FILE, isOnServer, type ServerPlace, SUBJECTS_FILE, VIEWS_FILE } from '../settings/places.ts'
import type { LedgerKeys } from '../signing/ledger-keys.ts'
import type { Position } from '../store/event-store.ts'
import { readOnlyStore } from '../store/read-only-store.ts'
import { readSqliteSubjects, type SubjectFileReader } from '../store/sqlite/sqlite-subjects.ts'
import { storeAsOf } from '../store/store-as-of.ts'
import { auditForReading, viewsForReading } from './compose-derived.ts'
import { copiesFor, type TakeFile } from './compose-sharing.ts'
import { openCopies, openReader } from './compose-stores.ts'
import { knownAtRest, logOf, lossesBeside, openLogAtRest } from './log-at-rest.ts'

export interface ReadingLedger extends AsyncDisposable {
  readonly ledger: Ledger
  readonly keys: LedgerKeys
}

export interface ReadingOptions {
  readonly onRead: (records: number) => void
  /** Reads the store as it was right after this record was written; default: as it is now. */
  readonly asOf?: Position | undefined
  /** Follows the store as it grows instead of stopping at its current end. */
  readonly follows?: boolean
  /** Reads the whole store and ignores the derived files. */
  readonly trustNothing?: boolean
  /** Searches the whole store for missing events, because the result is to be called complete. */
  readonly isCounted?: boolean
  readonly onLeftAside?: (why: string) => void
  /** Reads `subjects.db` as well, so that legal holds on subjects are seen to cover runs. */
  readonly seesSubjects?: boolean
}

/** No runs, if the file is not asked for or not there. Throws `StoreOpenError`. */
function subjectRuns(
  { data }: Settings,
  { seesSubjects = false }: ReadingOptions,
): Pick<SubjectFileReader, 'runsOf'> & Disposable {
  const path = join(data, SUBJECTS_FILE)
  if (seesSubjects && existsSync(path)) return readSqliteSubjects(path)
  return { runsOf: () => [], [Symbol.dispose]: () => undefined }
}

/** Access to the derived files that the processes on this store share. */
function sharedBy(place: ServerPlace, keys: KeySource): TakeFile {
  return copiesFor(() => openCopies(place), keys)
}

/**
 * Opens a ledger that takes no lock, writes nothing next to the store and records no reads: a process that can read the file needs no permission. The run list
 * and the audit index are the ledger's own files, or the copies that its processes share on a server, if they are sealed with its keys and match this store;
 * otherwise, and always with `asOf`, they are made for this process alone. Throws `StoreOpenError`, `KeyFileError` and `IdentityError`.
 */
export async function openReadingLedger(settings: Settings, options: ReadingOptions): Promise<ReadingLedger> {
  const { onRead, asOf, follows = false, trustNothing = false, isCounted = false } = options
  const { onLeftAside = () => undefined } = options
  const keys = requireKeys(settings.keys)
  const opened: Disposable[] = []
  const close = (): void => {
    for (const part of opened.splice(0).reverse()) part[Symbol.dispose]()
  }
  try {
    const source = fixedKeys(keys)
    const asksFiles = asOf === undefined && !trustNothing
    const found = asksFiles ? await openLogAtRest(settings.data, keys) : 'absent'
    if (typeof found !== 'string') opened.push(found)
    const reader = await openReader(settings.store, () => keys.ring)
    opened.push(reader)
    const log = logOf(reader, found)
    const stops = await log?.stopsIn(reader)
    const usesFiles = asksFiles && stops?.isPutBack !== true
    const knownLost = await knownAtRest(reader, log, {
      isCounted,
      keys,
      stops: stops?.losses,
      noted: await lossesBeside(settings, keys, reader, log),
    })
    let end = asOf ?? (follows ? undefined : await reader.end())
    const store = readOnlyStore(end === undefined ? reader : storeAsOf(reader, () => end ?? ''), onRead)
    let isFixed = false
    const goTo = (position: Position, { isLast }: { readonly isLast: boolean }): boolean => {
      if (end === undefined) return true
      if (!isFixed && reader.comparePositions(position, end) > 0) end = position
      isFixed ||= isLast
      return reader.comparePositions(position, end) <= 0
    }
    const fileOf = (name: string, kind: string) => ({
      ...{ store, reader, goTo, follows, onLeftAside, guard: fileGuard(source, kind) },
      path: usesFiles ? join(settings.data, name) : undefined,
      take: usesFiles && isOnServer(settings.store) ? sharedBy(settings.store, source) : undefined,
    })
    const views = viewsForReading(fileOf(VIEWS_FILE, 'views'))
    const index = auditForReading(fileOf(AUDIT_FILE, 'audit'))
    const subjects = subjectRuns(settings, options)
    opened.push(views, index, subjects)
    const audit = { index, onlyIfAsked: true }
    const parts = { store, views, keys: source, log: silentLog, audit, knownLost, readOnly: true }
    const ledger = await createLedger({ ...parts, subjectRuns: (id) => subjects.runsOf(id) })
    return {
      ledger,
      keys,
      [Symbol.asyncDispose]: async () => {
        await ledger[Symbol.asyncDispose]()
        close()
      },
    }
  } catch (error) {
    close()
    throw error
  }
}
