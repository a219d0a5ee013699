/** @module A program of the system, where there is one. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

export function findProgram(names: readonly string[], path = process.env.PATH ?? ''): string | undefined {
  for (const name of names) {
    for (const folder of path.split(delimiter)) {
      const file = join(folder, name)
      if (folder !== '' && isExecutable(file)) return file
    }
  }
  return undefined
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
