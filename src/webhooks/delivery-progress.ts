/** @module How far the deliveries of a webhook have got, in a file of the data folder: whatever is not in it was delivered, or is still to come. */

import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseJson } from '../../schemas/json.ts'
import { replaceFile, replaceFileLater } from '../signing/durable-file.ts'

const Place = z.strictObject({ position: z.string(), digest: z.string() })

const Progress = z.strictObject({
  v: z.literal(1),
  /** The last record that was looked at; absent before the first. */
  after: Place.optional(),
  /** Of the first look through a store: what happened before and can no longer be acted on is announced to nobody. RFC 3339. */
  since: z.string().optional(),
  /** Looked at, and not delivered yet. */
  undelivered: z.array(z.strictObject({ stream: z.string(), revision: z.int().min(0) })),
})

export type Progress = z.infer<typeof Progress>

/** Where progress is kept. */
export interface ProgressFile {
  /** Undefined where there is none, or none that can be read. */
  read(): Progress | undefined
  /** Durable when it returns. */
  begin(progress: Progress): void
  /** Durable when it resolves. Never called again before that. */
  save(progress: Progress): Promise<void>
}

/** A file that a crash leaves whole. Of a store in memory nothing is kept. */
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
    // Missing, unreadable or no JSON: the store is looked through again.
    return undefined
  }
}
