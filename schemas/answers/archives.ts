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

const Pass = z.strictObject({
  at: z.string().describe('When it ended.'),
  archived: z.int().describe('Number of runs that it archived.'),
  left: z.int().describe('Number of runs that were due and were left: damaged, held meanwhile, or grown.'),
  failure: z.string().optional().describe('Why it ended early; the next one goes on.'),
})

const Passes = z.strictObject({
  nextAt: z.string().describe('When the next pass of retention begins.'),
  last: Pass.optional().describe('The last pass over this tenant since the start of this process; absent before it.'),
})

export const ArchivesAnswer = z
  .strictObject({
    items: z.array(Item).describe('The 1,000 archives recorded last, the newest first.'),
    total: z.int().describe('Number of recorded archives.'),
    passes: Passes.optional().describe('Passes of retention; absent where this process runs none.'),
  })
  .meta({ id: 'Archives' })

export type ArchiveAnswer = z.infer<typeof Item>
export type RetentionPass = z.infer<typeof Pass>
export type RetentionPassesAnswer = z.infer<typeof Passes>
export type ArchivesAnswer = z.infer<typeof ArchivesAnswer>
