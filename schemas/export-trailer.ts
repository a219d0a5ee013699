/**
 * @module The trailer of an export: what it holds, counted and digested, under the key of the tenant's log. Version 1, of the first release,
 * has no signature: whoever can write such a file can count it again.
 */
import { z } from 'zod'
import type { JsonObject } from './json.ts'
import { Losses } from './loss-schema.ts'
import { Digest } from './names.ts'
import { JsonRecord } from './values.ts'

/** DSSE payload type: no other signature of the log's key is ever good for a trailer, and none of a trailer for anything else. */
export const TRAILER_PAYLOAD_TYPE = 'application/vnd.countersign.export-trailer+json'

const TrailerSignature = z.strictObject({
  /** `<name of the log>+<8 hex digits>`, as signed notes name a key. */
  key: z.string().max(1_024),
  type: z.literal(TRAILER_PAYLOAD_TYPE),
  /** Base64 of an Ed25519 signature over the DSSE encoding of `signedTrailerText`. */
  sig: z.string().regex(/^[A-Za-z0-9+/]{86}==$/),
})

const said = {
  ledgerId: z.string(),
  tenant: z.string(),
  /** Null where the export holds more than one run. */
  run: z.string().nullable(),
  /** The query whose events it holds; absent where it holds all of the run or the tenant. */
  filter: JsonRecord.optional(),
  events: z.int().min(0),
  /** Over all bytes of the lines before, their line feeds included. */
  digest: Digest,
  /** Id of the tenant's last event that the export takes into account; null where its log is empty, stopped or not kept. A store position in the first release. */
  asOf: z.string().nullable(),
  /** Leaves of the tenant's log up to there, and their root; null where no log is kept. The first exports named neither. */
  treeSize: z.int().min(0).nullable().optional(),
  root: Digest.nullable().optional(),
  /** Of a part of the log: index of its first leaf, the root of the tree of the leaves before, and `treeSize` again, where the next part begins. */
  from: z.int().min(0).optional(),
  fromRoot: Digest.optional(),
  to: z.int().min(0).optional(),
  /** What is lost of what it should hold, or cannot be proven: then it is not whole. At most twenty places. */
  losses: Losses.optional(),
}

export const ExportTrailer = z.discriminatedUnion('v', [
  z.strictObject({ v: z.literal(1), ...said }),
  z.strictObject({ v: z.literal(2), ...said, losses: z.undefined().optional(), signature: TrailerSignature }),
  /** Of an export that names losses: a reader of before, who knows none, does not take it for a whole one. */
  z.strictObject({ v: z.literal(3), ...said, losses: Losses, signature: TrailerSignature }),
])

/** The first line of a part of the log as JSONL: the leaves before it, as the hashes of their perfect subtrees, widest first. */
export const PartHead = z.strictObject({ from: z.int().min(0), root: Digest, edge: z.array(Digest).max(64) })

export type PartHead = z.infer<typeof PartHead>
export type ExportTrailer = z.infer<typeof ExportTrailer>
export type TrailerFacts = Omit<Extract<ExportTrailer, { v: 1 }>, 'v'>

/** The text that is signed: JSON without spaces, members in this order. */
export function signedTrailerText(v: ExportTrailer['v'], facts: TrailerFacts): string {
  return JSON.stringify(inOrder(v, facts))
}

/** The trailer with its members in one order, so that the same export ends in the same bytes. */
export function trailerInOrder(trailer: ExportTrailer): JsonObject {
  const ordered = inOrder(trailer.v, trailer)
  if (trailer.v === 1) return ordered
  const { key, type, sig } = trailer.signature
  return { ...ordered, signature: { key, type, sig } }
}

/** Absent members are left out by printing. */
function inOrder(v: number, facts: TrailerFacts): JsonObject {
  const { ledgerId, tenant, run, filter, events, digest, asOf, treeSize, root, from, fromRoot, to, losses } = facts
  return {
    ...{ v, ledgerId, tenant, run, filter, events, digest, asOf, treeSize, root, from, fromRoot, to, losses },
  } as unknown as JsonObject
}
