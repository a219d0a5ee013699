/** @module Creates the folder and files of a store, accessible only to their owner. */
import { closeSync, fsyncSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { asOpenError } from './open.ts'

const OWNER_ONLY_FILE = 0o600
const OWNER_ONLY_FOLDER = 0o700

/**
 * The real path of the store file. Creates the file and its folder if they are missing, but not the parents of the folder. Symbolic links are resolved, so
 * that one file has one lock. Throws `store-unreadable`.
 */
export function prepareStorePath(path: string): string {
  try {
    const folder = dirname(resolve(path))
    makeFolder(folder)
    const target = join(realpathSync(folder), basename(path))
    makeFile(target)
    return realpathSync(target)
  } catch (error) {
    throw asOpenError(error, path)
  }
}

/** Creates an empty file with mode 0600. An existing file is not opened: opening and closing it would drop this process's locks on it. */
export function makeFile(path: string): void {
  ignoring('EEXIST', () => closeSync(openSync(path, 'wx', OWNER_ONLY_FILE)))
}

/** Device and inode: distinguishes a file from another one that replaced it. Undefined if there is no file. */
export function fileIdentity(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}`
}

/** What is said of a store file that is no longer the one at its path. */
export const removedOrReplaced = (path: string): string =>
  `${path} was removed or replaced while in use: stop, put it back, start again`

function makeFolder(folder: string): void {
  ignoring('EEXIST', () => {
    mkdirSync(folder, { mode: OWNER_ONLY_FOLDER })
    syncFolder(dirname(folder))
  })
}

/**
 * A new directory entry may be lost in a power failure unless its folder is fsynced. SQLite does that for its own files, not for the folder that contains
 * them.
 */
function syncFolder(folder: string): void {
  // Windows has no handle for folders and does not need this.
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function ignoring(code: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === code)) throw error
  }
}
