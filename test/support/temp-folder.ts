/** @module A folder for one test, gone with its scope. */
import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TempFolder extends Disposable {
  readonly path: string
  file(name: string): string
}

/** A file system in memory, on systems that have one: a sync costs nothing there, and no test waits for the machine's disk. */
const IN_MEMORY = '/dev/shm'
/** Far more than all tests that run at once take. Containers often have 64 MiB there. */
const ROOM_BYTES = 2 * 1024 ** 3
const PARENT = hasRoom(IN_MEMORY) ? IN_MEMORY : tmpdir()

/** `onDisk` is for tests of what a process that is killed leaves on a real disk. */
export function tempFolder({ onDisk = false } = {}): TempFolder {
  const path = mkdtempSync(join(onDisk ? tmpdir() : PARENT, 'countersign-'))
  return {
    path,
    file: (name) => join(path, name),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}

function hasRoom(path: string): boolean {
  if (!existsSync(path)) return false
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize >= ROOM_BYTES
}
