/** @module What an intruder with a hex editor does: one byte of a recorded payload. */
import { readFileSync, writeFileSync } from 'node:fs'

const RECORDED = '"Apple"'
const FORGED = '"Appla"'

/** Changes one byte of the store's file in place, as no trigger and no log can see; says which. */
export function tamper(path: string): string {
  const file = readFileSync(path)
  // A page that was split keeps a stale copy in its free space, before the row that counts.
  const at = file.lastIndexOf(RECORDED)
  if (at < 0) throw new Error('the tour recorded no such payload')
  file.write(FORGED, at)
  writeFileSync(path, file)
  return `byte ${at + FORGED.length - 2} of ${file.length}: Apple is now Appla`
}
