/** @module Where the sources are: tests run compiled, from the repository's own folder or from one below it. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = sourceRoot(dirname(fileURLToPath(import.meta.url)))

function sourceRoot(folder: string): string {
  return existsSync(join(folder, 'tsconfig.json')) ? folder : sourceRoot(dirname(folder))
}
