/**
 * @module Shares the derived files of a store on PostgreSQL between its processes. A process that finds enough new events since the last copy writes a copy of
 * its own file to the database, one process at a time; a process without a file fetches that copy and reads the rest from the store.
 */
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileGuard, logFileGuard } from '../ledger/identity/file-guard.ts'
import type { KeySource, Log } from '../ledger/ports.ts'
import { runListReached } from '../ledger/read/run-list-projection.ts'
import { AUDIT_FILE, LOG_FILE, VIEWS_FILE } from '../settings/places.ts'
import { reasonOf } from '../settings/reason-of.ts'
import { sha256Hex } from '../signing/digests.ts'
import type { DerivedFileOptions, FileGuard } from '../store/derived-file.ts'
import type { Position } from '../store/event-store.ts'
import type { SharedCopies, SharedCopy } from '../store/shared-copies.ts'
import { type CopyNote, noteOf, putFile, takeFile } from '../store/shared-file.ts'
import { AUDIT_SCHEMA } from '../store/sqlite/audit-schema.ts'
import { LOG_SCHEMA } from '../store/sqlite/log-schema.ts'
import type { ReadFile } from '../store/sqlite/read-file.ts'
import { readSqliteAudit } from '../store/sqlite/sqlite-audit.ts'
import { readSqliteLogs } from '../store/sqlite/sqlite-log.ts'
import { readSqliteViews } from '../store/sqlite/sqlite-views.ts'
import { VIEW_SCHEMA } from '../store/sqlite/view-schema.ts'

/** Reading fewer events than this from the store takes about as long as fetching a copy. */
const LEAST_EVENTS = 1_000
/**
 * Growth, as a fraction of all events, after which a new copy is due: a process that fetches a copy reads at most this fraction more, and all copies together
 * cost about ten times the last one.
 */
const RENEWED_AFTER = 0.1
const TURN_MS = 60_000
/** Pages that are copied in one step of one or two milliseconds, before other work runs. */
const PAGES_AT_ONCE = 256

type Opened = ReadFile<{ isAuthentic(): Promise<boolean> }> & { readonly reached: Position | undefined }

interface Kind {
  readonly file: string
  readonly schema: string
  readonly guard: (keys: KeySource) => FileGuard
  readonly open: (options: Required<Pick<DerivedFileOptions, 'path' | 'guard'>>) => Opened | undefined
}

/** The file that every start waits for comes first. */
const KINDS: readonly Kind[] = [
  {
    file: LOG_FILE,
    schema: LOG_SCHEMA,
    guard: logFileGuard,
    open: (options) => opened(readSqliteLogs(options), ({ over }) => over.progress()?.position),
  },
  {
    file: VIEWS_FILE,
    schema: VIEW_SCHEMA,
    guard: (keys) => fileGuard(keys, 'views'),
    open: (options) => opened(readSqliteViews(options), ({ over }) => runListReached(over)?.position),
  },
  {
    file: AUDIT_FILE,
    schema: AUDIT_SCHEMA,
    guard: (keys) => fileGuard(keys, 'audit'),
    open: (options) => opened(readSqliteAudit(options), ({ over }) => over.progress()?.position),
  },
]

function opened<T extends ReadFile<{ isAuthentic(): Promise<boolean> }>>(
  file: T | undefined,
  reached: (file: T) => Position | undefined,
): Opened | undefined {
  return file && { ...file, reached: reached(file) }
}

export interface SharedFilesDeps {
  readonly copies: SharedCopies
  /** The folder of this process's own files. */
  readonly data: string
  readonly keys: KeySource
  readonly log: Log
  /** No copy is written for fewer new events than this. */
  readonly leastEvents?: number
}

const FOREIGN_COPY = 'the copy in the database is not one that this ledger wrote: left aside'

/** Result of fetching a copy; undefined if there is none. */
interface Taken {
  readonly isComplete: boolean
  readonly events: number | undefined
}

/** Writes the copy of this kind to `path` if it is sealed with this ledger's keys. Rejects if the server does not respond or the role lacks permission. */
async function takeCopy(
  { copies, keys }: Pick<SharedFilesDeps, 'copies' | 'keys'>,
  kind: Kind,
  path: string,
): Promise<Taken | undefined> {
  const name = nameOf(kind)
  return await copies.read(name, async (copy, part) => {
    const note = noteOf(copy, name, kind.guard(keys))
    return { isComplete: note !== undefined && (await takeFile(note, path, part)), events: note?.events }
  })
}

/**
 * Writes the shared copy of this file to a path chosen by the caller; false if there is none. Rejects, with the reason, if a copy exists but cannot be used.
 */
export type TakeFile = (file: string, path: string) => Promise<boolean>

/** For a process that only reads and has no files: connects when the first file is requested and disconnects afterwards. */
export function copiesFor(open: () => Promise<SharedCopies | undefined>, keys: KeySource): TakeFile {
  return async (file, path) => {
    const kind = KINDS.find((each) => each.file === file)
    await using copies = await open()
    if (kind === undefined || copies === undefined) return false
    const copy = await takeCopy({ copies, keys }, kind, path)
    if (copy?.isComplete === false) throw new Error(FOREIGN_COPY)
    return copy !== undefined
  }
}

export class SharedFiles implements AsyncDisposable {
  readonly #deps: SharedFilesDeps
  readonly #stop = new AbortController()
  #turn: Promise<readonly string[]> | undefined
  #failing = false

  constructor(deps: SharedFilesDeps) {
    this.#deps = deps
  }

  /** Fetches a copy of each missing file, before the files are opened. A file that cannot be fetched is made from the store, as usual. */
  async fetch(): Promise<void> {
    const { copies, data, keys, log } = this.#deps
    for (const kind of KINDS) {
      const path = join(data, kind.file)
      if (existsSync(path)) continue
      try {
        const copy = await takeCopy({ copies, keys }, kind, path)
        if (copy?.isComplete === true)
          log.info({ file: path, events: copy.events }, 'taken from the copy in the database')
        else if (copy !== undefined) log.warn({ file: path }, FOREIGN_COPY)
      } catch (error) {
        log.warn(
          { file: path, reason: reasonOf(error) },
          'no copy can be taken from the database: the file is made from the store',
        )
      }
    }
  }

  /** Checks every minute whether a copy is due, until the returned object is disposed, which must happen before the files are closed. */
  keep(): AsyncDisposable {
    const timer = setInterval(() => void this.turn().catch(() => undefined), TURN_MS).unref()
    return {
      [Symbol.asyncDispose]: async () => {
        clearInterval(timer)
        this.#stop.abort()
        await this.#turn?.catch(() => undefined)
      },
    }
  }

  /** Writes the copies that are due and returns their names. Rejects if a copy cannot be written; the log reports a series of failures once. */
  async turn(): Promise<readonly string[]> {
    this.#turn ??= this.#putDue()
      .then(
        (put) => {
          this.#failing = false
          return put
        },
        (error: unknown) => {
          if (!this.#failing && !this.#stop.signal.aborted) {
            this.#deps.log.warn(
              { reason: reasonOf(error) },
              'no copy of the files that follow the store can be put into the database',
            )
          }
          this.#failing = true
          throw error
        },
      )
      .finally(() => {
        this.#turn = undefined
      })
    return await this.#turn
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#deps.copies[Symbol.asyncDispose]()
  }

  async #putDue(): Promise<readonly string[]> {
    const put: string[] = []
    for (const kind of KINDS) {
      if (this.#stop.signal.aborted) return put
      const options = { path: join(this.#deps.data, kind.file), guard: kind.guard(this.#deps.keys) }
      const file = kind.open(options)
      if (file === undefined) continue
      try {
        if (file.reached !== undefined && (await this.#put(kind, file, options, file.reached))) put.push(kind.file)
      } finally {
        file[Symbol.dispose]()
      }
    }
    return put
  }

  async #put(
    kind: Kind,
    file: Opened,
    { path, guard }: { readonly path: string; readonly guard: FileGuard },
    reached: Position,
  ): Promise<boolean> {
    const { copies } = this.#deps
    const name = nameOf(kind)
    const events = (previous: SharedCopy | undefined) =>
      this.#eventsIfDue(previous && noteOf(previous, name, guard), reached)
    if ((await events(await copies.latest(name))) === undefined) return false
    // A file that another program has altered must not get a copy with this ledger's seal.
    if (!(await file.over.isAuthentic())) return false
    const copy = `${path}.copy`
    try {
      return await copies.write(name, async (previous, put) => {
        const counted = await events(previous)
        if (counted === undefined) return undefined
        await file.copyTo(copy, PAGES_AT_ONCE)
        const note = { name, reached, events: counted, guard }
        return await putFile(copy, note, async (digest, bytes) => {
          this.#stop.signal.throwIfAborted()
          await put(digest, bytes)
        })
      })
    } finally {
      for (const suffix of ['', '-wal', '-shm', '.sealed']) await rm(`${copy}${suffix}`, { force: true })
    }
  }

  /** Number of events that a copy as of `reached` would hold; undefined if the existing copy is recent enough. */
  async #eventsIfDue(previous: CopyNote | undefined, reached: Position): Promise<number | undefined> {
    const { copies, leastEvents = LEAST_EVENTS } = this.#deps
    const due = Math.max(leastEvents, Math.ceil((previous?.events ?? 0) * RENEWED_AFTER))
    if ((await copies.eventsBetween(previous?.reached, reached, due)) < due) return undefined
    return (previous?.events ?? 0) + (await copies.eventsBetween(previous?.reached, reached))
  }
}

/** Builds with other tables keep separate copies: upgrading one process at a time does not discard the copy that the others use. */
function nameOf({ file, schema }: Kind): string {
  return `${file}@${sha256Hex(schema).slice(0, 12)}`
}
