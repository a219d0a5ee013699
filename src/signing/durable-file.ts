/** @module Small files that survive a crash whole: each is written to a temporary file, synced, then moved into place in one step. */
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
/** Errors of media and mounts that cannot or need not be synced: read-only ones, and folders that this user may enter but not list. */
const NOTHING_TO_SYNC = ['EINVAL', 'EROFS', 'EACCES', 'EPERM', 'ENOTSUP', 'EISDIR']

/** Creates a file of mode 0600. Returns false, and changes nothing, if the file already exists. */
export function linkNewFile(path: string, text: string): boolean {
  const temporary = writeBeside(path, text)
  try {
    // A hard link is the only single step that puts a complete file in place and never replaces an existing one.
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

/** Replaces or creates a file of mode 0600. */
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

/** `replaceFile` without blocking this thread on the disk. Resolves once the file is durable. */
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

/** Creates a folder and its missing parents, of mode 0700. Each new name is durable on return. */
export function makeFolder(path: string): void {
  const missing: string[] = []
  for (let at = resolve(path); !isFolder(at); at = dirname(at)) missing.push(at)
  // Created one by one: node's own recursive form never ends if the file system cannot create folders, such as /proc.
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(folder, { mode: OWNER_ONLY_FOLDER })
    } catch (error) {
      // Another process may have created the folder meanwhile.
      if (!isFolder(folder)) throw error
    }
    syncFolder(folder)
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Makes the current file at `path` durable; the process that put it there may not have synced it yet. Throws the system's error if a sync fails. */
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

/** The folder holds the file's name, so it has to be synced too. */
function syncFolder(path: string): void {
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
