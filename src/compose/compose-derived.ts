/**
 * @module The files that follow the store, for a process that only reads: as they lie there where they are this ledger's and at the end of
 * the store, completed in a copy of its own where the store has gone on; where there are none, as another machine shares them; or else made
 * from the whole store, in a folder of its own, so that memory does not grow with the store. Nothing that belongs to the owner is written.
 */

import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { runListReached } from '../ledger/read/run-list-projection.ts'
import { isStillStored, type SeenRecord } from '../ledger/read/seen-record.ts'
import { reasonOf } from '../settings/reason-of.ts'
import type { AuditIndex } from '../store/audit-index.ts'
import { type DerivedFile, type DerivedFileOptions, type FileGuard, NOT_AUTHENTIC } from '../store/derived-file.ts'
import type { EventStore, Position } from '../store/event-store.ts'
import { dataFolderLock, describeOwner } from '../store/sqlite/owner-lock.ts'
import type { ReadFile } from '../store/sqlite/read-file.ts'
import { readRest, restState } from '../store/sqlite/rest-file.ts'
import { openSqliteAudit, readSqliteAudit } from '../store/sqlite/sqlite-audit.ts'
import { openSqliteViews, readSqliteViews } from '../store/sqlite/sqlite-views.ts'
import type { ViewStore } from '../store/view-store.ts'
import type { TakeFile } from './compose-sharing.ts'
import { makeReadingFolder } from './reading-folder.ts'

export interface ReadingFilesOptions {
  /** The file of the ledger; undefined: it is not to be trusted, or there is none. */
  readonly path: string | undefined
  readonly guard: FileGuard
  readonly store: Pick<EventStore, 'recordAt' | 'end' | 'comparePositions'>
  /** Where another machine's file is available, for a process without one of its own. */
  readonly take?: TakeFile | undefined
  /** The store goes on while it is read. */
  readonly follows: boolean
  /** The same as it goes on, beyond where it is read to. */
  readonly reader: Pick<EventStore, 'recordAt'>
  /** From here on the store is read up to there, where that is further, and after `isLast` no further. False where it is not read as far as that. */
  readonly goTo: (position: Position, how: { readonly isLast: boolean }) => boolean
  /** Told why a file that is there is not taken. */
  readonly onLeftAside: (why: string) => void
}

/** An owner brings its files to the store every two seconds, and notes then what they hold. */
const OWNER_WAIT_MS = 5_000
const OWNER_LOOK_MS = 50
/** Of a smaller file all rows are read in less time. */
const WAITED_FOR_BYTES = 64 * 1024 * 1024

type Checked = { isAuthentic(): Promise<boolean> }
type Unfiled<T> = Omit<T, keyof DerivedFile>
/** `isVouched`: this snapshot was found authentic. What its owner writes behind it is not in it. */
type Found<T> = ReadFile<Unfiled<T>> & { readonly isVouched?: boolean }

interface Kind<T extends DerivedFile & Checked> {
  readonly name: string
  readonly open: (options: DerivedFileOptions) => T
  readonly read: (options: { readonly path: string; readonly guard: FileGuard }) => ReadFile<Unfiled<T>> | undefined
  readonly reached: (file: Unfiled<T>) => SeenRecord | undefined
  /** Large for each event: beside an owner who writes on, the store is read as of where the file is, so that it need not be copied to be completed. */
  readonly isLarge: boolean
  /** What is asked before the first pass, and finds nothing. */
  readonly unasked: Partial<T>
}

export function auditForReading(options: ReadingFilesOptions): AuditIndex {
  return checked<AuditIndex>(options, {
    name: 'audit.db',
    open: openSqliteAudit,
    read: readSqliteAudit,
    reached: (index) => index.progress(),
    isLarge: true,
    unasked: { progress: () => undefined },
  })
}

export function viewsForReading(options: ReadingFilesOptions): ViewStore {
  return checked<ViewStore>(options, {
    name: 'views.db',
    open: openSqliteViews,
    read: readSqliteViews,
    reached: runListReached,
    isLarge: false,
    unasked: { checkpoint: () => undefined, loadFold: () => undefined, saveFold: () => undefined },
  })
}

/** Opened when its rows are first checked, which every pass does before anything else: most commands need one of the files, or none. */
function checked<T extends DerivedFile & Checked>(options: ReadingFilesOptions, kind: Kind<T>): T {
  const listeners = new Set<() => void>()
  let opening: Promise<T> | undefined
  let opened: T | undefined
  const open = async (): Promise<T> => {
    opened = await prepared(options, kind)
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
  return new Proxy({} as T, {
    get: (_, name) => own[name] ?? memberOf(opened ?? kind.unasked, name),
  })
}

function memberOf(file: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(file, name)
  return typeof value === 'function' ? value.bind(file) : value
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
  // Beside an owner the store may still be read further than this, for the sake of a larger file.
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

/** Whether a process that may be alive says that it owns the folder of this file. */
function hasOwner(path: string): boolean {
  const folder = dirname(path)
  // A folder that this machine never served a store from need not be there.
  if (!existsSync(folder)) return false
  const owner = describeOwner(dataFolderLock(folder))
  return owner !== undefined && isAlive(owner.pid)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // One that may not be signalled is there.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}

/**
 * The file once its owner has said what it holds, and has brought it to where the store was at the question; or as it is, where that takes too long. It is opened
 * only then: run by root, to open a log that is being written is a change of it, and has the owner read the whole file again.
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
    // Written to in between, the file is looked at once more.
    const isVouched = exists && readRest(path, guard.rowKey())?.state === restState(path)
    if (isVouched && file !== undefined && (await isAuthentic(file))) return { ...file, isVouched }
    file?.[Symbol.dispose]()
  }
  return kind.read({ path, guard })
}

/** Where the file has got to in the store; undefined where nothing in it may be believed. */
async function usable<T extends DerivedFile & Checked>(
  file: Found<T>,
  { reader, goTo, onLeftAside }: ReadingFilesOptions,
  kind: Kind<T>,
): Promise<Position | undefined> {
  try {
    const reached = kind.reached(file.over)
    // Of another store, or of events that a restored copy lacks: such a file has nothing to say here.
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

/** One snapshot of the owner's file, which was checked once. */
function asStored<T extends DerivedFile & Checked>({ over, [Symbol.dispose]: close }: ReadFile<Unfiled<T>>): T {
  const file: DerivedFile & Checked = {
    isAuthentic: async () => true,
    onRenewed: () => () => undefined,
    renew: () => {
      throw new Error("another process's file is not made anew")
    },
    [Symbol.dispose]: close,
  }
  return Object.assign(over, file) as unknown as T
}

/** Nobody else can write there: its rows need no seal. In memory where the folder for what is temporary takes nothing. */
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

/** A copy that goes on from where the file is, and goes with its process. */
async function completed<T extends DerivedFile & Checked>(
  file: ReadFile<Unfiled<T>>,
  guard: FileGuard,
  kind: Kind<T>,
): Promise<T> {
  return await inOwnFolder(kind, guard, (path) => file.copyTo(path))
}

/** The file that another machine shares, checked as one of this machine is, and completed; undefined where there is none to believe. */
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

/** Made in a folder of this process, and gone with it. */
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
