/** @module The system's own browser, where there is one: none is downloaded. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

export function findChromium(path = process.env.PATH ?? ''): string | undefined {
  for (const name of NAMES) {
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
