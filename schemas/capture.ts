/** @module Reports of a capture entrance in addition to its calls: gaps in its recording, and the definitions of the tools behind it. */
import { z } from 'zod'
import { Digest, Name } from './names.ts'

/** Maximum number of definitions listed individually; the digest covers all of them. */
export const DEFINITIONS_MAX = 512
const COUNT_MAX = 1_000_000_000

export const Entrance = {
  entrance: z.enum(['mcp', 'hook']),
  /** The server behind the entrance, as named by its operator. */
  server: Name,
}

export const GapMembers = {
  /** When the first and the last unrecorded call were let through, by the clock of the entrance. */
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  count: z.int().min(1).max(COUNT_MAX),
}

export const DefinitionsMembers = {
  /** Over the JCS form of all definitions, in the order of their names. */
  digest: Digest,
  count: z.int().min(0).max(COUNT_MAX),
  /** The first definitions by name, each with its own digest. */
  tools: z.array(z.strictObject({ name: Name, digest: Digest })).max(DEFINITIONS_MAX),
  /** `refused`: the definitions differ from the pinned ones and were not shown to the host. */
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
