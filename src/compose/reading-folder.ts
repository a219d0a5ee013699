/** @module A temporary folder for a process that only reads. It is removed on disposal, at the latest when the process exits. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface ReadingFolder extends Disposable {
  readonly file: (name: string) => string
}

export function makeReadingFolder(): ReadingFolder {
  const path = mkdtempSync(join(tmpdir(), 'countersign-read-'))
  const remove = (): void => rmSync(path, { recursive: true, force: true })
  process.once('exit', remove)
  return {
    file: (name) => join(path, name),
    [Symbol.dispose]: () => {
      process.off('exit', remove)
      remove()
    },
  }
}
