/** @module The latency of the disk itself: appending a few bytes to a file and syncing them. */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'

/** Microseconds of each append of `bytes` bytes followed by `fdatasync`. */
export function syncDisk(path: string, bytes: number, milliseconds: number): readonly number[] {
  const file = openSync(path, 'a')
  const content = Buffer.alloc(bytes, 'x')
  const took: number[] = []
  try {
    for (const endMs = performance.now() + milliseconds; performance.now() < endMs; ) {
      const startedMs = performance.now()
      writeSync(file, content)
      fdatasyncSync(file)
      took.push((performance.now() - startedMs) * 1000)
    }
    return took
  } finally {
    closeSync(file)
  }
}
