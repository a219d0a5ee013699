/**
 * @module Opens the derived files (run list, audit index) for a process that only reads. The ledger's own file is used if it is authentic and has reached the
 * end of the store; if the store is ahead, a private copy is completed. Without an own file, a copy shared by another machine is used; otherwise the file is
 * rebuilt from the whole store in a temporary folder, so that memory does not grow with the store. Files of the owner are never written.
 */

import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { runListReached } from '../ledger/read/run-list-projection.ts'
import { isStillStored, type SeenRecord } from '../ledger/read/seen-record.ts'
import { reasonOf } from '../settings/reason-of.ts'
import type { AuditIndex } from '../store/audit-index.ts'
import {
  type DerivedFile,
  type DerivedFileOptions,
  DerivedFileRenewedError,
  type FileGuard,
  NOT_AUTHENTIC,
} from '../store/derived-file.ts'
import type { EventStore, Position } from '../store/event-store.ts'
import { isDamage } from '../store/sqlite/disposable-file.ts'
import { dataFolderLock, describeOwner } from '../store/sqlite/owner-lock.ts'
import type { ReadFile } from '../store/sqlite/read-file.ts'
import { readRest, restState } from '../store/sqlite/rest-file.ts'
import { openSqliteAudit, readSqliteAudit } from '../store/sqlite/sqlite-audit.ts'
import { openSqliteViews, readSqliteViews } from '../store/sqlite/sqlite-views.ts'
import type { ViewStore } from '../store/view-store.ts'
import type { TakeFile } from './compose-sharing.ts'
import { makeReadingFolder } from './reading-folder.ts'

export interface ReadingFilesOptions {
  /** The ledger's own file; undefined if there is none or if it must not be trusted. */
  readonly path: string | undefined
  readonly guard: FileGuard
  readonly store: Pick<EventStore, 'recordAt' | 'end' | 'comparePositions'>
  /** Fetches another machine's shared copy, for a process that has no file itself. */
  readonly take?: TakeFile | undefined
  /** Whether reading follows the store as it grows. */
  readonly follows: boolean
  /** The unbounded reader: it also sees records beyond the position that `store` is read to. */
  readonly reader: Pick<EventStore, 'recordAt'>
  /**
   * Moves the end of reading forward to this position if the position is beyond it; `isLast` fixes the end from then on. False if the fixed end is before the
   * position.
   */
  readonly goTo: (position: Position, how: { readonly isLast: boolean }) => boolean
  /** Called with the reason why an existing file is not used. */
  readonly onLeftAside: (why: string) => void
}

/** An owner updates its files every two seconds and then notes their state. */
const OWNER_WAIT_MS = 5_000
const OWNER_LOOK_MS = 50
/** In a smaller file, checking all rows takes less time than waiting. */
const WAITED_FOR_BYTES = 64 * 1024 * 1024

type Checked = { isAuthentic(): Promise<boolean> }
type Unfiled<T> = Omit<T, keyof DerivedFile>
/** `isVouched`: this snapshot was found authentic. Later writes of the owner are not part of it. */
type Found<T> = ReadFile<Unfiled<T>> & { readonly isVouched?: boolean }

interface Kind<T extends DerivedFile & Checked> {
  readonly name: string
  readonly open: (options: DerivedFileOptions) => T
  readonly read: (options: { readonly path: string; readonly guard: FileGuard }) => ReadFile<Unfiled<T>> | undefined
  readonly reached: (file: Unfiled<T>) => SeenRecord | undefined
  /**
   * Whether the rows are large. While an owner keeps writing, the end of reading is moved forward to where the file is, so that no copy has to be completed.
   */
  readonly isLarge: boolean
  /** Members that are used before the first pass; they report an empty file. */
  readonly unasked: Partial<T>
}

export function auditForReading(options: ReadingFilesOptions): AuditIndex {
  return checked<AuditIndex>(options, {
    name: 'audit.db',
    open: openSqliteAudit,
    read: readSqliteAudit,
    reached: (index) => index.progress(),
    isLarge: true,
    unasked: { progress: () => undefined, size: () => 0 },
  })
}

export function viewsForReading(options: ReadingFilesOptions): ViewStore {
  return checked<ViewStore>(options, {
    name: 'views.db',
    open: openSqliteViews,
    read: readSqliteViews,
    reached: runListReached,
    isLarge: false,
    unasked: {
      ...{ checkpoint: () => undefined, loadFold: () => undefined, saveFold: () => undefined },
      ...{ faults: () => [], note: () => undefined },
    },
  })
}

/** Opens the file when its rows are first checked, which is the first step of every pass: most commands need only one of the files, or none. */
function checked<T extends DerivedFile & Checked>(options: ReadingFilesOptions, kind: Kind<T>): T {
  const listeners = new Set<() => void>()
  let opening: Promise<T> | undefined
  let opened: T | undefined
  let used = options
  const open = async (): Promise<T> => {
    opened = await prepared(used, kind)
    for (const listener of listeners) opened.onRenewed(listener)
    return opened
  }
  const own: Partial<Record<string | symbol, unknown>> = {
    isAuthentic: async () => {
      opening ??= open()
      return (await opening).isAuthentic()
    },
    onRenewed: (listener: () => void) => {
      listeners.add(listener)
      const stop = opened?.onRenewed(listener)
      return () => {
        listeners.delete(listener)
        stop?.()
      }
    },
    [Symbol.dispose]: () => opened?.[Symbol.dispose](),
  }
  /** Its rows were checked, but not what SQLite makes of them; from here on the file is made from the store. */
  const leftAside = (error: unknown): never => {
    if (!isDamage(error)) throw error
    const reason = reasonOf(error)
    opened?.[Symbol.dispose]()
    ;[opened, opening, used] = [undefined, undefined, { ...options, path: undefined, take: undefined }]
    options.onLeftAside(`${kind.name} is damaged (${reason})`)
    for (const listener of [...listeners]) listener()
    throw new DerivedFileRenewedError({ file: options.path ?? kind.name, reason })
  }
  return new Proxy({} as T, {
    get: (_, name) => own[name] ?? memberOf(opened ?? kind.unasked, name, leftAside),
  })
}

function memberOf(file: object, name: string | symbol, onError: (error: unknown) => never): unknown {
  const value: unknown = Reflect.get(file, name)
  if (typeof value !== 'function') return value
  return (...args: readonly unknown[]): unknown => {
    try {
      const done: unknown = Reflect.apply(value, file, args)
      return done instanceof Promise ? done.catch(onError) : done
    } catch (error) {
      return onError(error)
    }
  }
}

async function prepared<T extends DerivedFile & Checked>(options: ReadingFilesOptions, kind: Kind<T>): Promise<T> {
  const { path, guard, store, follows, onLeftAside } = options
  const rebuild = (): Promise<T> => rebuilt(options, kind)
  const isOwned = path !== undefined && hasOwner(path)
  const file =
    path === undefined
      ? undefined
      : await (isOwned ? openReadOnlyCopy(path, options, kind) : kind.read({ path, guard }))
  if (file === undefined) return (await takenCopy(options, kind)) ?? rebuild()
  const reached = await usable(file, options, kind)
  if (reached === undefined) {
    file[Symbol.dispose]()
    return (await takenCopy(options, kind)) ?? rebuild()
  }
  // If a process owns the file, the end of reading may still move forward, to where a larger file is.
  if (!follows && (kind.isLarge || !isOwned) && reached === (await store.end())) return asStored(file)
  try {
    return await completed(file, guard, kind)
  } catch (error) {
    onLeftAside(`${kind.name} could not be copied (${reasonOf(error)})`)
    return await rebuild()
  } finally {
    file[Symbol.dispose]()
  }
}

/** Whether the folder of this file has a lock whose owner process may be alive. */
function hasOwner(path: string): boolean {
  const folder = dirname(path)
  // The folder does not exist if this machine never served a store from it.
  if (!existsSync(folder)) return false
  const owner = describeOwner(dataFolderLock(folder))
  return owner !== undefined && isAlive(owner.pid)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // A process that this user may not signal exists.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}

/**
 * Waits until the owner has noted the state of the file and has brought it to the end that the store has now; after a timeout the file is used as it is. The
 * file is opened only then: if root opens a database whose WAL is being written, that counts as a change, and the owner reads the whole file again.
 */
async function openReadOnlyCopy<T extends DerivedFile & Checked>(
  path: string,
  { guard, store }: ReadingFilesOptions,
  kind: Kind<T>,
): Promise<Found<T> | undefined> {
  const isWorthAWait = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) >= WAITED_FOR_BYTES
  const until = performance.now() + (isWorthAWait ? OWNER_WAIT_MS : 0)
  const wanted = await store.end()
  for (let looked = ''; performance.now() < until; await setTimeout(OWNER_LOOK_MS)) {
    const state = restState(path)
    if (state === undefined || state === looked || readRest(path, guard.rowKey())?.state !== state) continue
    looked = state
    const file = kind.read({ path, guard })
    const reached = file && kind.reached(file.over)?.position
    const exists = wanted === undefined || (reached !== undefined && store.comparePositions(reached, wanted) >= 0)
    // If the file was written to in the meantime, it is checked again.
    const isVouched = exists && readRest(path, guard.rowKey())?.state === restState(path)
    if (isVouched && file !== undefined && (await isAuthentic(file))) return { ...file, isVouched }
    file?.[Symbol.dispose]()
  }
  return kind.read({ path, guard })
}

/** The position that the file has reached in the store; undefined if the file cannot be trusted. */
async function usable<T extends DerivedFile & Checked>(
  file: Found<T>,
  { reader, goTo, onLeftAside }: ReadingFilesOptions,
  kind: Kind<T>,
): Promise<Position | undefined> {
  try {
    const reached = kind.reached(file.over)
    // The file belongs to another store, or has events that a restored copy lacks: it cannot be used.
    if (reached === undefined || !(await isStillStored(reader, reached))) return undefined
    if (file.isVouched === true || (await isAuthentic(file)))
      return goTo(reached.position, { isLast: kind.isLarge }) ? reached.position : undefined
    onLeftAside(`${kind.name}: ${NOT_AUTHENTIC}`)
  } catch (error) {
    onLeftAside(`${kind.name} cannot be read (${reasonOf(error)})`)
  }
  return undefined
}

function isAuthentic<T extends Checked>({ over }: Found<T>): Promise<boolean> {
  return (over as unknown as Checked).isAuthentic()
}

/** A snapshot of the owner's file; the snapshot was checked once. */
function asStored<T extends DerivedFile & Checked>({ over, [Symbol.dispose]: close }: ReadFile<Unfiled<T>>): T {
  const file: DerivedFile & Checked = {
    isAuthentic: async () => true,
    onRenewed: () => () => undefined,
    renew: () => {
      throw new Error("another process's file is not rebuilt")
    },
    [Symbol.dispose]: close,
  }
  return Object.assign(over, file) as unknown as T
}

/** No other process can write to the temporary folder, so rows need no seal. The file is made in memory if the temporary folder is not writable. */
async function rebuilt<T extends DerivedFile & Checked>(
  { onLeftAside }: ReadingFilesOptions,
  kind: Kind<T>,
): Promise<T> {
  try {
    return await inOwnFolder(kind, undefined, async () => undefined)
  } catch (error) {
    onLeftAside(`${kind.name} is made in memory (${reasonOf(error)})`)
    return kind.open({ path: ':memory:' })
  }
}

/** A private copy that continues from where the file ends, and is removed with its process. */
async function completed<T extends DerivedFile & Checked>(
  file: ReadFile<Unfiled<T>>,
  guard: FileGuard,
  kind: Kind<T>,
): Promise<T> {
  return await inOwnFolder(kind, guard, (path) => file.copyTo(path))
}

/** The copy that another machine shares: checked like a file of this machine, then completed. Undefined if there is no trustworthy copy. */
async function takenCopy<T extends DerivedFile & Checked>(
  options: ReadingFilesOptions,
  kind: Kind<T>,
): Promise<T | undefined> {
  const { take, guard, onLeftAside } = options
  if (take === undefined) return undefined
  let isMissing = false
  try {
    const file = await inOwnFolder(kind, guard, async (path) => {
      isMissing = !(await take(kind.name, path))
      const copy = isMissing ? undefined : kind.read({ path, guard })
      const reached = copy && (await usable(copy, options, kind))
      copy?.[Symbol.dispose]()
      if (reached === undefined) throw new Error('it is not of this store')
    })
    return file
  } catch (error) {
    if (!isMissing) onLeftAside(`the shared copy of ${kind.name} is not used (${reasonOf(error)})`)
    return undefined
  }
}

/** Makes the file in a temporary folder of this process that is removed when the file is closed. */
async function inOwnFolder<T extends DerivedFile & Checked>(
  { name, open }: Kind<T>,
  guard: FileGuard | undefined,
  make: (path: string) => Promise<void>,
): Promise<T> {
  const folder = makeReadingFolder()
  try {
    const path = folder.file(name)
    await make(path)
    const copy = open({ path, guard })
    const dispose = (): void => {
      copy[Symbol.dispose]()
      folder[Symbol.dispose]()
    }
    return new Proxy(copy, { get: (_, member) => (member === Symbol.dispose ? dispose : Reflect.get(copy, member)) })
  } catch (error) {
    folder[Symbol.dispose]()
    throw error
  }
}
