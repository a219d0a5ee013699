/** @module Small files that a crash leaves whole: written beside their place, synced, then put there in one step. */
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

const OWNER_ONLY = 0o600
const OWNER_ONLY_FOLDER = 0o700
/** Media and mounts that cannot be synced, or need not be: read-only ones, folders that this user may enter and not list. */
const NOTHING_TO_SYNC = ['EINVAL', 'EROFS', 'EACCES', 'EPERM', 'ENOTSUP', 'EISDIR']

/** Makes a file of mode 0600 unless there is one already: then false, and it is left alone. */
export function linkNewFile(path: string, text: string): boolean {
  const temporary = writeBeside(path, text)
  try {
    // A link is the one step that puts a whole file in place and refuses to take another's.
    linkSync(temporary, path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(temporary, { force: true })
  }
  syncFolder(path)
  return true
}

/** Replaces a file, or makes it, with mode 0600. */
export function replaceFile(path: string, text: string): void {
  const temporary = writeBeside(path, text)
  try {
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  syncFolder(path)
}

/** `replaceFile` behind everybody's back: no sync of the disk holds this thread. Resolves once it is durable. */
export async function replaceFileLater(path: string, text: string): Promise<void> {
  const temporary = nameBeside(path)
  try {
    const file = await open(temporary, 'wx', OWNER_ONLY)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  const folder = await open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Makes a folder, and those above it that are missing, of mode 0700; each new name is durable when it returns. */
export function makeFolder(path: string): void {
  const missing: string[] = []
  for (let at = resolve(path); !isFolder(at); at = dirname(at)) missing.push(at)
  // One by one: node's own recursive form never ends where a file system makes no folders, such as /proc.
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(folder, { mode: OWNER_ONLY_FOLDER })
    } catch (error) {
      // Another process made it meanwhile.
      if (!isFolder(folder)) throw error
    }
    syncFolder(folder)
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/**
 * What stands at `path` now outlives a power cut when this returns: whoever put it there may not have come to the end of it yet.
 * Throws the system's error where a sync fails.
 */
export function syncPlaced(path: string): void {
  syncIfPossible(path)
  syncIfPossible(dirname(path))
}

function syncIfPossible(path: string): void {
  try {
    const handle = openSync(path, 'r')
    try {
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && NOTHING_TO_SYNC.includes(String(error.code))) return
    throw error
  }
}

function writeBeside(path: string, text: string): string {
  const temporary = nameBeside(path)
  const file = openSync(temporary, 'wx', OWNER_ONLY)
  try {
    writeFileSync(file, text)
    fsyncSync(file)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
  return temporary
}

function nameBeside(path: string): string {
  return `${path}.${randomBytes(6).toString('hex')}.tmp`
}

/** The name is in the folder, so the folder is synced too. */
function syncFolder(path: string): void {
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
