/** @module The delivery progress of a webhook, in a file of the data folder: any event not listed in it was delivered, or is still to be read. */

import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseJson } from '../../schemas/json.ts'
import { replaceFile, replaceFileLater } from '../signing/durable-file.ts'

const Place = z.strictObject({ position: z.string(), digest: z.string() })

const Progress = z.strictObject({
  v: z.literal(1),
  /** The last record that was read; absent before the first. */
  after: Place.optional(),
  /** During the first scan of a store, RFC 3339: earlier events are announced only if they can still be acted on. */
  since: z.string().optional(),
  /** Read, but not delivered yet. */
  undelivered: z.array(z.strictObject({ stream: z.string(), revision: z.int().min(0) })),
})

export type Progress = z.infer<typeof Progress>

/** Storage of the progress. */
export interface ProgressFile {
  /** Undefined if there is no progress, or it cannot be read. */
  read(): Progress | undefined
  /** Durable when it returns. */
  begin(progress: Progress): void
  /** Durable when it resolves. Must not be called again before that. */
  save(progress: Progress): Promise<void>
}

/** A file that is replaced atomically, so that a crash leaves it intact. Without a path, as for a store in memory, nothing is kept. */
export function progressFile(path: string | undefined): ProgressFile {
  if (path === undefined) return { read: () => undefined, begin: () => undefined, save: async () => undefined }
  return {
    read: () => parsed(path),
    begin: (progress) => replaceFile(path, JSON.stringify(progress)),
    save: (progress) => replaceFileLater(path, JSON.stringify(progress)),
  }
}

function parsed(path: string): Progress | undefined {
  try {
    return Progress.safeParse(parseJson(readFileSync(path, 'utf8'))).data
  } catch {
    // The file is missing, unreadable or not JSON: the store is scanned again.
    return undefined
  }
}
