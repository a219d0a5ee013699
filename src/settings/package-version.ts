/** @module The version of this package. */

import { readFileSync } from 'node:fs'
import { parseJson } from '../../schemas/json.ts'

/** `package.json` is above the built files, at a depth that depends on the build. */
const DESCRIPTIONS = ['../../package.json', '../../../package.json']

export function packageVersion(): string {
  for (const place of DESCRIPTIONS) {
    const description = readDescription(new URL(place, import.meta.url))
    if (description?.name === 'countersign') return String(description.version)
  }
  return 'unknown'
}

function readDescription(file: URL): { readonly name?: unknown; readonly version?: unknown } | undefined {
  try {
    const description: unknown = parseJson(readFileSync(file, 'utf8'))
    return typeof description === 'object' && description !== null ? description : undefined
  } catch {
    return undefined
  }
}
