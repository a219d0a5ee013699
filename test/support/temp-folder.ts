/** @module A folder for one test, gone with its scope. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TempFolder extends Disposable {
  readonly path: string
  file(name: string): string
}

export function tempFolder(): TempFolder {
  const path = mkdtempSync(join(tmpdir(), 'countersign-'))
  return {
    path,
    file: (name) => join(path, name),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}
