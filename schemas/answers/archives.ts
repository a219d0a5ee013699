/** @module The answer about the archives of a tenant (LIFE-57). */
import { z } from 'zod'

const Item = z.strictObject({
  archive: z.string().describe('Name of the archive: its file without the extension, `.jsonl`.'),
  at: z.string().describe('When it was recorded.'),
  by: z.string().describe('Who ran the pass of retention.'),
  digest: z.string().describe('SHA-256 of the file.'),
  bytes: z.int().describe('Length of the file.'),
  events: z.int().describe('Number of events in it, with the parts of large values.'),
  runs: z.int().describe('Number of runs in it.'),
  values: z.int().describe('Number of large values in it.'),
  classes: z.array(z.string()).describe('Names of the classes of retention that said so.'),
})

export const ArchivesAnswer = z
  .strictObject({
    items: z.array(Item).describe('The 1,000 archives recorded last, the newest first.'),
    total: z.int().describe('Number of archives on record.'),
  })
  .meta({ id: 'Archives' })

export type ArchiveAnswer = z.infer<typeof Item>
export type ArchivesAnswer = z.infer<typeof ArchivesAnswer>
