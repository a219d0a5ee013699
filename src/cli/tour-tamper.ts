/** @module Simulates an intruder with a hex editor who changes one byte of a recorded payload. */
import { readFileSync, writeFileSync } from 'node:fs'

const RECORDED = '"Apple"'
const FORGED = '"Appla"'

/** Changes one byte of the store's file in place, unseen by triggers and logs; returns which byte. */
export function tamper(path: string): string {
  const file = readFileSync(path)
  // After a page split, SQLite leaves a stale copy in free space before the row in use.
  const at = file.lastIndexOf(RECORDED)
  if (at < 0) throw new Error('the tour recorded no such payload')
  file.write(FORGED, at)
  writeFileSync(path, file)
  return `byte ${at + FORGED.length - 2} of ${file.length}: Apple is now Appla`
}
