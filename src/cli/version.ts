/** @module `countersign version`. */
import { packageVersion } from '../settings/package-version.ts'
import type { Arguments } from './arguments.ts'
import { jsonLine } from './shown.ts'

export async function version({ has }: Arguments): Promise<number> {
  const found = packageVersion()
  process.stdout.write(has('json') ? jsonLine({ version: found, node: process.version }) : `${found}\n`)
  return 0
}
