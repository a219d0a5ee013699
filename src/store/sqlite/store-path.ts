/** @module Where a store lies: its folder and files, made for their owner's eyes only. */
import { closeSync, fsyncSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { asOpenError } from './open.ts'

const OWNER_ONLY_FILE = 0o600
const OWNER_ONLY_FOLDER = 0o700

/**
 * The real path of the store file, which is made if it is missing; so is its folder, but not what lies above. Symbolic links are
 * followed, so that one file has one lock. Throws `store-unreadable`.
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

/** Makes an empty file of mode 0600. One that exists is not touched: opening and closing it would drop this process's locks on it. */
export function makeFile(path: string): void {
  ignoring('EEXIST', () => closeSync(openSync(path, 'wx', OWNER_ONLY_FILE)))
}

/** Device and inode: tells a file from another that was put in its place. Undefined where there is none. */
export function fileIdentity(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}`
}

function makeFolder(folder: string): void {
  ignoring('EEXIST', () => {
    mkdirSync(folder, { mode: OWNER_ONLY_FOLDER })
    syncFolder(dirname(folder))
  })
}

/** A new name is lost with the power unless its folder is synced. SQLite does it for its own files, not for the folder around them. */
function syncFolder(folder: string): void {
  // Windows has no handle for this, and needs none.
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
