/** @module A folder for stores that nobody needs afterwards. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'

export interface TempFolder extends Disposable {
  readonly path: string
  readonly at: (name: string) => string
}

/** Below `parent`; gone with all that is in it when disposed, or when this process ends before. */
export function makeTempFolder(parent: string): TempFolder {
  const path = mkdtempSync(join(parent, 'countersign-bench-'))
  const remove = (): void => rmSync(path, { recursive: true, force: true })
  process.once('exit', remove)
  return {
    path,
    at: (name) => join(path, name),
    [Symbol.dispose]: () => {
      process.off('exit', remove)
      remove()
    },
  }
}
