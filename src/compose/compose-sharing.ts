/**
 * @module The files that follow a store on PostgreSQL, shared by its processes: whoever finds that much has come since the last copy puts a copy
 * of its own file into the database, one process at a time; a process without a file takes that copy and reads the rest from the store.
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

/** Fewer events are read from the store about as fast as a copy is taken. */
const LEAST_EVENTS = 1_000
/** A tenth of what there is: whoever takes a copy has at most so much more to read, and all copies together cost what ten of the last do. */
const RENEWED_AFTER = 0.1
const TURN_MS = 60_000
/** One or two milliseconds of copying, then others have their turn. */
const PAGES_AT_ONCE = 256

type Opened = ReadFile<{ isAuthentic(): Promise<boolean> }> & { readonly reached: Position | undefined }

interface Kind {
  readonly file: string
  readonly schema: string
  readonly guard: (keys: KeySource) => FileGuard
  readonly open: (options: Required<Pick<DerivedFileOptions, 'path' | 'guard'>>) => Opened | undefined
}

/** What every start waits for comes first. */
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
  /** The folder of the process's own files. */
  readonly data: string
  readonly keys: KeySource
  readonly log: Log
  /** No copy is put for fewer events than this. */
  readonly leastEvents?: number
}

const FOREIGN_COPY = 'the copy in the database is not one that this ledger wrote: left aside'

/** What became of a copy; undefined where none is kept. */
interface Taken {
  readonly isComplete: boolean
  readonly events: number | undefined
}

/** Puts the copy of this kind at `path`, where this ledger's keys vouch for it. Rejects where the server does not answer, or the role may not. */
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

/** Puts the copy of this file at a path of the caller's own; false where there is none. Rejects, with the reason, where there is one that is not available. */
export type TakeFile = (file: string, path: string) => Promise<boolean>

/** For a process that reads and has no files of its own: connects when the first file is wanted, and releases the server with it. */
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

  /** Before the files are opened: takes a copy for each that is missing. What cannot be taken is made from the store, as always. */
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

  /** Looks every minute whether a copy is due, until what is returned is disposed: before the files are closed. */
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

  /** Puts the copies that are due; the names of those that were put. Rejects where one cannot be, which the log has once. */
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
    // What somebody else wrote into the file must not get a copy with this ledger's seal.
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

  /** How many events a copy as of `reached` would hold; undefined where the one that is kept will do. */
  async #eventsIfDue(previous: CopyNote | undefined, reached: Position): Promise<number | undefined> {
    const { copies, leastEvents = LEAST_EVENTS } = this.#deps
    const due = Math.max(leastEvents, Math.ceil((previous?.events ?? 0) * RENEWED_AFTER))
    if ((await copies.eventsBetween(previous?.reached, reached, due)) < due) return undefined
    return (previous?.events ?? 0) + (await copies.eventsBetween(previous?.reached, reached))
  }
}

/** Builds with other tables keep copies of their own: an upgrade of one process at a time does not throw away what the others use. */
function nameOf({ file, schema }: Kind): string {
  return `${file}@${sha256Hex(schema).slice(0, 12)}`
}
