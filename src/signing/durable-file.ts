/** @module Small files that a crash leaves whole: written beside their place, synced, then put there in one step. */
import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const OWNER_ONLY = 0o600

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

function writeBeside(path: string, text: string): string {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
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

/** The name is in the folder, so the folder is synced too. */
function syncFolder(path: string): void {
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
