/** @module A folder for one test, gone with its scope. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TempFolder extends Disposable {
  readonly path: string
  file(name: string): string
}

/** Where a sync costs nothing, on systems that have such a place: for tests of many small stores. */
const IN_MEMORY = '/dev/shm'

export function tempFolder({ inMemory = false } = {}): TempFolder {
  const parent = inMemory && existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir()
  const path = mkdtempSync(join(parent, 'countersign-'))
  return {
    path,
    file: (name) => join(path, name),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}
