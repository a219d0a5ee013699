/** @module The files of the archives beside a store, for verification. */
import { createHash } from 'node:crypto'
import { createReadStream, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { archivesOf } from '../store/sqlite/archive-reader.ts'
import type { FindArchive } from '../verify/archive-checks.ts'

/** Reads the whole file of an archive, to compare it with what was recorded. */
export function archivesBeside(storePath: string): FindArchive {
  return async (archive) => {
    const hash = createHash('sha256')
    let bytes = 0
    try {
      for await (const chunk of createReadStream(join(archivesOf(realpathSync(storePath)), `${archive}.jsonl`))) {
        hash.update(chunk as Buffer)
        bytes += (chunk as Buffer).length
      }
    } catch {
      return 'missing'
    }
    return { digest: `sha256:${hash.digest('hex')}`, bytes }
  }
}
