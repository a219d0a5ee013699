/** @module A temporary folder for stores. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'

export interface TempFolder extends Disposable {
  readonly path: string
  readonly at: (name: string) => string
}

/** Created below `parent`; removed with its content when disposed, or when this process ends earlier. */
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
