/** @module What an entrance reports beside its calls: a gap in what it recorded, and the definitions of the tools behind it. */
import { z } from 'zod'
import { Digest, Name } from './names.ts'

/** Definitions that are listed one by one; the digest covers all of them. */
export const DEFINITIONS_MAX = 512
const COUNT_MAX = 1_000_000_000

export const Entrance = {
  entrance: z.enum(['mcp', 'hook']),
  /** What is behind it, by the word of its owner. */
  server: Name,
}

export const GapMembers = {
  /** When the first and the last of the calls were let through, by the clock of the entrance. */
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  count: z.int().min(1).max(COUNT_MAX),
}

export const DefinitionsMembers = {
  /** Over JCS of all definitions, in the order of their names. */
  digest: Digest,
  count: z.int().min(0).max(COUNT_MAX),
  /** The first of them by name, each with the digest of its own definition. */
  tools: z.array(z.strictObject({ name: Name, digest: Digest })).max(DEFINITIONS_MAX),
  /** `refused`: they are not those that were pinned, and were not shown to the host. */
  outcome: z.enum(['shown', 'refused']),
}

export const RecordCapture = z
  .strictObject({
    gap: z.strictObject({ ...Entrance, ...GapMembers }).optional(),
    definitions: z.strictObject({ ...Entrance, ...DefinitionsMembers }).optional(),
  })
  .refine(
    (body) => (body.gap === undefined) !== (body.definitions === undefined),
    'exactly one of gap and definitions is required',
  )

export type RecordCapture = z.infer<typeof RecordCapture>
